"""A process within the test: everything real but the broker, which is the one in memory."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from strider.contracts.generated.topics import (
    ECHO_DLQ,
    ECHO_REQUESTS,
    ECHOES,
    SCHEMAS,
    TALLIES,
    TALLY_DLQ,
)
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.runtime.clocks import SystemClock
from strider.runtime.observability import log_events
from strider.runtime.process.definition import BuildService
from strider.runtime.process.exit_codes import ExitCode
from strider.runtime.process.lifecycle import ServiceLifecycle
from strider.runtime.process.startup import ServiceStartup
from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.loader import load_settings

T = TypeVar("T")
SHARDS = 4
DEADLINE_SECONDS = 60.0


async def eventually(question: Callable[[], Any], *, seconds: float = DEADLINE_SECONDS) -> Any:
    """Repeat until the result is not empty, and return it; fail when that takes too long."""
    async with asyncio.timeout(seconds):
        while True:
            answer = question()
            answer = await answer if asyncio.iscoroutine(answer) else answer
            if answer:
                return answer
            await asyncio.sleep(0.02)


def a_broker(*, shards: int = SHARDS) -> InProcessBroker:
    """Make a broker with the topics of the examples."""
    broker = InProcessBroker(clock=SystemClock())
    for topic in (ECHO_REQUESTS, ECHOES, TALLIES, ECHO_DLQ, TALLY_DLQ, SCHEMAS):
        broker.create_topic(topic.name, topic.partitions or shards)
    broker.start_group("echo", [ECHO_REQUESTS.name])
    broker.start_group("tally", [ECHOES.name])
    return broker


@dataclass
class InProcessService:
    """A process that lives within the test."""

    stream: io.StringIO
    life: ServiceLifecycle
    start: ServiceStartup[Any]
    ended: asyncio.Task[ExitCode]
    exits: list[int] = field(default_factory=list)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def lines_of(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == event]

    async def get(self, path: str) -> httpx.Response:
        listening = await self.wait_for_event(log_events.HEALTH_SERVER_STARTED.text)
        async with httpx.AsyncClient(trust_env=False) as client:
            return await client.get(listening["url"] + path)

    async def wait_for_event(self, event: str) -> dict[str, Any]:
        await eventually(lambda: self.lines_of(event) or self.ended.done())
        assert self.lines_of(event), self.stream.getvalue()
        return self.lines_of(event)[0]

    async def code(self) -> ExitCode:
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await asyncio.shield(self.ended)


@asynccontextmanager
async def run_in_process(
    settings_class: type[ServiceSettings],
    build: BuildService[Any],
    broker: InProcessBroker,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[InProcessService]:
    """Start a process on the broker in memory; stops it at the end."""
    stream, exits = io.StringIO(), []
    name = settings_class.PREFIX.lower().rstrip("_")
    environ = {"STRIDER_SHARDS": str(SHARDS), "STRIDER_GRACE": "2s", **(environ or {})}
    start = ServiceStartup(
        name,
        load_settings(settings_class, environ),
        build,
        make_bus=lambda _settings: InProcessBus(broker),
        stream=stream,
        exit_now=exits.append,
    )
    life = ServiceLifecycle(start)
    ended = asyncio.create_task(life.run())
    try:
        yield InProcessService(stream, life, start, ended, exits)
    finally:
        life.request_exit(ExitCode.OK)
        await asyncio.wait([ended], timeout=DEADLINE_SECONDS)
