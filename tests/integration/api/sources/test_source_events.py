"""Events about sources from a real stream: what waits, what is given up, and what holds up nothing."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from structlog.testing import capture_logs

from strider.api import log_events
from strider.api.adapters.sources.events import SourceEvents
from strider.api.core import SourceEvent
from strider.messaging.errors import Unavailable
from strider.runtime.clocks import SystemClock
from strider.runtime.observability.metrics import Metrics
from strider.storage.redis import Redis, RedisOptions, connect
from strider.testing.faulty_tcp_proxy import faulty_tcp_proxy
from tests.processes.waiting import until


@dataclass
class Handler:
    """Notes events; raises what is set for a source."""

    failures: dict[str, Exception] = field(default_factory=dict)
    handled: list[str] = field(default_factory=list)

    async def __call__(self, event: SourceEvent) -> None:
        if (failure := self.failures.get(event.source_id)) is not None:
            raise failure
        self.handled.append(event.source_id)


@pytest.fixture
async def stream(redis: Redis) -> AsyncIterator[str]:
    name = f"source-events-{uuid.uuid4().hex[:8]}"
    yield name
    await redis.command("DEL", name)


def events_of(redis: Redis, handler: Handler, stream: str, metrics: Metrics | None = None) -> SourceEvents:
    return SourceEvents(
        redis, handler, metrics or Metrics(), stream=stream, consumer="a", clock=SystemClock()
    )


async def send(redis: Redis, stream: str, *sources: str) -> None:
    for each in sources:
        await redis.command("XADD", stream, "*", "type", "enabled", "source_id", each)


async def pending(redis: Redis, stream: str) -> int:
    (group,) = await redis.command("XINFO", "GROUPS", stream)
    return int(group.get("pending", group.get(b"pending")))


@pytest.mark.req("S1.2.22", part="one source that fails holds up no other")
async def test_an_event_whose_source_cannot_be_read_now_holds_up_no_other(redis: Redis, stream: str) -> None:
    handler = Handler({"b": Unavailable("source-manager", "answers 500")})
    events = events_of(redis, handler, stream)
    await send(redis, stream, "a", "b", "c")

    with pytest.raises(Unavailable, match="answers 500"):
        await events.poll()
    await send(redis, stream, "d")
    assert await events.poll() == 1

    assert handler.handled == ["a", "c", "d"]
    assert await pending(redis, stream) == 1  # another one, or this one, takes it over


async def test_a_failure_of_ours_is_counted_and_ends_nothing(redis: Redis, stream: str) -> None:
    handler, metrics = Handler({"b": ZeroDivisionError("a fault \ud800")}), Metrics()
    events = events_of(redis, handler, stream, metrics)
    await send(redis, stream, "a", "b", "c")

    with capture_logs() as lines:
        assert await events.poll() == 3

    assert handler.handled == ["a", "c"]
    assert await pending(redis, stream) == 0
    (line,) = [each for each in lines if each["event"] == log_events.SOURCE_EVENT_INVALID.text]
    assert (line["reason"], line["why"]) == ("failed", "ZeroDivisionError: a fault \\ud800")
    assert 'strider_source_events_total{result="failed"} 1.0' in metrics.render().decode()
    assert 'strider_source_events_total{result="applied"} 2.0' in metrics.render().decode()


@pytest.mark.req("S1.2.22", part="Redis away and back, its stream deleted")
async def test_events_continue_when_redis_is_back(redis: Redis, redis_url: str, stream: str) -> None:
    """Also where the stream was deleted meanwhile, with its group."""
    handler, address = Handler(), urlsplit(redis_url)
    async with faulty_tcp_proxy(address.hostname or "", address.port or 6379) as (wire, port):
        proxied = connect(RedisOptions(f"redis://127.0.0.1:{port}"))
        running = asyncio.create_task(events_of(proxied, handler, stream).run())
        try:
            await send(redis, stream, "a")
            await until(lambda: handled(handler, "a"), what="the first event is handled")
            wire.drops_everything = True
            wire.cut()
            await send(redis, stream, "b")
            wire.drops_everything = False
            await until(lambda: handled(handler, "b"), what="the event after the interruption is handled")
            await redis.command("DEL", stream)
            await send(redis, stream, "c")
            await until(lambda: handled(handler, "c"), what="an event of the new stream is handled")
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await proxied.close()

    assert handler.handled == ["a", "b", "c"]


async def handled(handler: Handler, source: str) -> bool:
    return source in handler.handled
