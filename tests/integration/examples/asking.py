"""Echo requests on the broker in memory, their answers, and a handler that gives none."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import EchoRequested
from strider.contracts.generated.topics import ECHO_REQUESTS, ECHOES
from strider.echo.__main__ import build as build_echo
from strider.echo.settings import EchoSettings
from strider.runtime.effects import Effects, Reads
from strider.runtime.inprocess import Broker, InProcessBus
from strider.runtime.loop_settings import LoopSettings
from strider.runtime.ports import Outgoing, TopicPartition
from strider.runtime.service import Process, Wiring, consume

CODEC = Codec(SchemaStore.bundled())


async def ask(broker: Broker, *texts: str) -> None:
    """Send echo requests."""
    producer = await InProcessBus(broker).producer()
    for number, text in enumerate(texts):
        event = EchoRequested(request_id=f"r{number}", host="a.test", text=text)
        encoded = CODEC.encode(ECHO_REQUESTS, event)
        await producer.send(Outgoing(ECHO_REQUESTS.name, b"a.test", encoded.value, headers=encoded.headers))
    await producer.flush()


async def echoes(broker: Broker) -> list[str]:
    """Read the outcome of every echo."""
    partitions = [TopicPartition(ECHOES.name, number) for number in range(4)]
    reader = await InProcessBus(broker).reader(partitions)
    found = await reader.poll(max_records=1000, timeout_seconds=0)
    return [CODEC.decode(ECHOES, r.value, r.headers).outcome for records in found.values() for r in records]


def with_echo(process: Process[EchoSettings], **changes: Any) -> Wiring:
    """Build echo with something added to it."""
    return replace(build_echo(process), **changes)


class Hanging:
    """A handler that never answers."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()

    async def on_request(self, _request: EchoRequested, _record: object) -> Effects:
        self.entered.set()
        await asyncio.Event().wait()
        return Effects()

    def build(self, process: Process[EchoSettings]) -> Wiring:
        reads = Reads(ECHO_REQUESTS, handler=self.on_request)
        settings = LoopSettings(lag_interval_seconds=0.2)
        return with_echo(process, consumes=(consume("echo", reads, settings=settings),))
