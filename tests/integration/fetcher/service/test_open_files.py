"""A fetcher that can open no connection: it waits, blames no host, and continues."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strider.testing.hostile import http_response, sends, serve_hostile
from strider.testing.stack import ServerStack
from tests.processes.open_files import without_new_files
from tests.processes.services import Service

from .processes import FetcherProcesses, FetcherTopics

HOSTS = 40


@pytest.fixture
def start(stack: ServerStack, redis_url: str, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    fetchers = FetcherProcesses(tmp_path, kafka=stack.kafka.address, redis=redis_url)
    yield fetchers.start
    fetchers.close()


@pytest.mark.fault("F31", part="files of a fetcher")
async def test_a_fetcher_without_files_marks_nothing_and_continues(
    stack: ServerStack, start: Callable[..., Service]
) -> None:
    """F31: at most what was marked when the files ran out is requested again, and no try is counted."""
    mark, service = uuid.uuid4().hex[:6], start(FETCHER_CONCURRENCY="8")
    topics = FetcherTopics(kafka=stack.kafka.address, redis=stack.redis.address)
    async with serve_hostile({"/ok": sends(http_response())}) as server:
        first = await topics.request_fetches(server.url("/ok", host=f"first-{mark}.localhost"))

        async def is_working() -> bool:
            return len(await topics.outcomes(first)) == 1

        await service.until(is_working, what="fetches")
        with without_new_files([service.pid]):
            wanted = await topics.request_fetches(
                *(server.url("/ok", host=f"h{number}-{mark}.localhost") for number in range(HOSTS))
            )

            def is_paused() -> bool:
                return any(each["reason"] == "files" for each in service.events("Consumption paused"))

            await service.until(is_paused, what="reports that no connection can be opened")
            early = await topics.outcomes(wanted)

        async def is_done() -> bool:
            return len(await topics.outcomes(wanted)) == HOSTS

        await service.until(is_done, what="continues")
        service.ask_to_stop()
        code = await service.until_ended()
        outcomes = list((await topics.outcomes(wanted)).values())
    await topics.close()

    assert code == 0
    assert set(early.values()) <= {"fetched", "offline"}
    assert set(outcomes) <= {"fetched", "offline"}, "no host is blamed"
    assert outcomes.count("offline") <= 8
    assert "ulimit -n" in service.events("Consumption paused")[0]["why"]
