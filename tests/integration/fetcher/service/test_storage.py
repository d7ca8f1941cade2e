"""What the service keeps in Redis, and what it does without it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from strider.contracts.generated.events import FetchRequested
from strider.testing.hostile import http_response, sends, serve_hostile
from strider.testing.stack import RunningServer, ServerStack, start_valkey
from tests.processes.services import Service

from .processes import FetcherProcesses, FetcherTopics


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RunningServer]:
    """Return a store of one's own, which a test may freeze."""
    part = start_valkey(tmp_path / "redis")
    yield part
    part.close()


@pytest.fixture
def start(stack: ServerStack, redis: RunningServer, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    fetchers = FetcherProcesses(tmp_path, kafka=stack.kafka.address, redis=redis.address)
    yield fetchers.start
    fetchers.close()


async def _until_ended(service: Service, topics: FetcherTopics, wanted: Sequence[FetchRequested]) -> None:
    async def is_done() -> bool:
        return len(await topics.outcomes(wanted)) == len(wanted)

    await service.until(is_done, what="ends everything")


async def is_up(service: Service, value: float) -> bool:
    return await service.metric("strider_dependency_up", part="redis") == value


@pytest.mark.req("S0.1.3", "S0.1.10")
def test_a_session_continues_in_another_process(
    stack: ServerStack, redis: RunningServer, start: Callable[..., Service]
) -> None:
    """The jar is where requests are made, whichever process makes them."""

    async def act() -> None:
        host = f"shop-{uuid.uuid4().hex[:6]}.localhost"
        plays = {
            "/in": sends(http_response(headers=("Set-Cookie: s=1; Path=/",))),
            "/next": sends(http_response()),
        }
        topics = FetcherTopics(kafka=stack.kafka.address, redis=redis.address, max_in_flight=2)
        async with serve_hostile(plays) as server:
            leased = await topics.lease(server.url("/in", host=host), server.url("/next", host=host))
            by_path = {each.url.rpartition("/")[2]: replace(each, cookie_jar="run") for each in leased}
            for path in ("in", "next"):
                service = start()
                await topics.publish(by_path[path])
                await _until_ended(service, topics, [by_path[path]])
                service.ask_to_stop()
                assert await service.until_ended() == 0
            sent = [head.partition("Cookie: ")[2].partition("\r\n")[0] for head in server.request_heads]
        await topics.close()

        assert sent == ["", "s=1"]

    asyncio.run(act())


@pytest.mark.req("S1.15.7")
@pytest.mark.req("S1.3.4", part="storage of a fetcher")
def test_an_unavailable_store_is_reported_and_pauses_fetching(
    stack: ServerStack, redis: RunningServer, start: Callable[..., Service]
) -> None:
    """By readiness, by metric and by log; and once the store responds, pages are fetched again."""

    async def act() -> None:
        mark = uuid.uuid4().hex[:6]
        topics = FetcherTopics(kafka=stack.kafka.address, redis=redis.address)
        async with serve_hostile({"/": sends(http_response())}) as server:
            service = start()
            await service.until_ready()
            wanted = await topics.lease(*(server.url("/", host=f"h{n}-{mark}.localhost") for n in range(5)))
            redis.freeze()
            await topics.publish(*wanted)
            await service.until_red("redis")
            await service.until(lambda: is_up(service, 0.0), what="counts it as down")
            assert any("redis" in str(event) for event in service.events() if event["level"] == "warning")
            assert server.requested_paths == []
            redis.thaw()
            await service.until(lambda: is_up(service, 1.0), what="counts it as up")
            more = await topics.request_fetches(server.url("/", host=f"last-{mark}.localhost"))
            await _until_ended(service, topics, [*wanted, *more])
            outcomes = await topics.outcomes([*wanted, *more])
            # A mark that was confirmed too late is no permission: that request is tried again later.
            assert set(outcomes.values()) <= {"fetched", "interrupted"}
            assert outcomes[more[0].lease_id] == "fetched"
            assert len(server.requested_paths) == list(outcomes.values()).count("fetched")
        await topics.close()

    asyncio.run(act())
