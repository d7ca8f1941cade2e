"""Echo requests on the broker in memory, their echoes, and a handler that never returns."""

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
from strider.messaging.effects import Effects, Subscription
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.ports import OutgoingMessage, TopicPartition
from strider.runtime.consumer.spec import ConsumerSettings
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume

CODEC = Codec(SchemaStore.bundled())


async def send_requests(broker: InProcessBroker, *texts: str) -> None:
    """Send echo requests."""
    producer = await InProcessBus(broker).producer()
    for number, text in enumerate(texts):
        event = EchoRequested(request_id=f"r{number}", host="a.test", text=text)
        encoded = CODEC.encode(ECHO_REQUESTS, event)
        await producer.send(
            OutgoingMessage(ECHO_REQUESTS.name, b"a.test", encoded.value, headers=encoded.headers)
        )
    await producer.flush()


async def echoes(broker: InProcessBroker) -> list[str]:
    """Read the outcome of every echo."""
    partitions = [TopicPartition(ECHOES.name, number) for number in range(4)]
    reader = await InProcessBus(broker).reader(partitions)
    found = await reader.poll(max_records=1000, timeout_seconds=0)
    return [CODEC.decode(ECHOES, r.value, r.headers).outcome for records in found.values() for r in records]


def with_echo(process: ServiceContext[EchoSettings], **changes: Any) -> ServiceDefinition:
    """Build echo with something added to it."""
    return replace(build_echo(process), **changes)


class HangingHandler:
    """A handler that never returns."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()

    async def on_request(self, _request: EchoRequested, _record: object) -> Effects:
        self.entered.set()
        await asyncio.Event().wait()
        return Effects()

    def build(self, process: ServiceContext[EchoSettings]) -> ServiceDefinition:
        reads = Subscription(ECHO_REQUESTS, handler=self.on_request)
        settings = ConsumerSettings(lag_interval_seconds=0.2)
        return with_echo(process, consumers=(consume("echo", reads, settings=settings),))
