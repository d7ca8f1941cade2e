"""A folder of large pages that takes no more: the fetcher keeps what it has fetched, and stores it later."""

from __future__ import annotations

import resource
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strider.testing.hostile import http_response, sends, serve_hostile
from strider.testing.stack import ServerStack
from tests.processes.services import Service

from .processes import FetcherProcesses, FetcherTopics

MAX_FILE_BYTES = 300_000
"""Less than the page, and more than the process logs meanwhile."""
PAGES = {"/large": sends(http_response(b"x" * 600_000))}


@pytest.fixture
def start(stack: ServerStack, redis_url: str, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    fetchers = FetcherProcesses(tmp_path, kafka=stack.kafka.address, redis=redis_url)
    yield fetchers.start
    fetchers.close()


@pytest.mark.fault("F16", part="the folder of the object store")
async def test_a_large_page_waits_for_the_full_folder_and_is_not_fetched_again(
    stack: ServerStack, start: Callable[..., Service], tmp_path: Path
) -> None:
    """F16: nothing incomplete is in the folder, and the host is asked once."""
    mark, service = uuid.uuid4().hex[:6], start()
    topics = FetcherTopics(kafka=stack.kafka.address, redis=stack.redis.address)
    await service.until_ready()
    unlimited = resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, resource.RLIM_INFINITY))
    async with serve_hostile(PAGES) as server:
        large = await topics.request_fetches(server.url("/large", host=f"large-{mark}.localhost"))
        await service.until_red("objects")
        stored_early = [*(tmp_path / "objects").rglob("*/*/*")]
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, unlimited)

        async def is_stored() -> bool:
            return len(await topics.outcomes(large)) == 1

        await service.until(is_stored, what="stores the page")
        requested = server.requested_paths
    outcomes, pages = await topics.outcomes(large), await topics.pages(large)
    service.ask_to_stop()
    code = await service.until_ended()
    await topics.close()

    assert (code, requested) == (0, ["/large"])
    assert set(outcomes.values()) == {"fetched"}
    assert pages == {large[0].url}
    assert [each for each in stored_early if each.is_file() and each.stat().st_size] == []
    (stored,) = [each for each in (tmp_path / "objects").rglob("*/*/*") if each.is_file()]
    assert stored.stat().st_size == 600_000
