"""The consumer loops of a process with the publisher and the schemas that they share.

Connects a service definition with the parts of the runtime. Decides nothing about messages.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from strider.contracts import Topic
from strider.contracts.generated.topics import SCHEMAS
from strider.messaging.schema_topic import SchemaFinder, SchemaPublisher
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.consumer.spec import ConsumerPorts, ConsumerSpec
from strider.runtime.observability.consumer_metrics import ConsumerMetrics
from strider.runtime.observability.logging import SecretScrubber
from strider.runtime.publishing.dead_letters import DeadLetterOrigin, DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher
from strider.runtime.settings.base import SchemaRegistrySettings, secret_values

from .definition import ServiceContext, ServiceDefinition
from .watchdog_target import WatchedLoop

if TYPE_CHECKING:
    from strider.messaging.schema_registry_client import SchemaRegistryClient

DRAIN_SHARE: Final = 0.8
"""Part of the shutdown time for messages in flight; the rest is for the last commit and for closing."""
STOP_NOTICE_SECONDS: Final = 0.5
"""How long a polling loop may take to notice that it is to stop."""


class ServiceConsumers:
    """All consumer loops of one process."""

    def __init__(self, context: ServiceContext[Any], definition: ServiceDefinition, *, version: str) -> None:
        self._context = context
        self._definition = definition
        self._version = version
        settings = context.settings
        self._registry = open_schema_registry(settings.registry)
        self._schema_finder = SchemaFinder(context.bus, codec=context.codec, registry=self._registry)
        self._schema_publisher = SchemaPublisher(
            context.name, codec=context.codec, clock=context.clock, registry=self._registry
        )
        self._event_publisher = EventPublisher(
            context.bus,
            context.codec,
            service=context.name,
            shards=settings.run.shards,
            clock=context.clock,
        )
        self._loops: list[ConsumerLoop] = []
        self.watched: list[WatchedLoop] = []
        for consumption in definition.consumers:
            self._add(consumption)

    def _add(self, spec: ConsumerSpec) -> None:
        process, settings = self._context, self._context.settings
        group = spec.group.group
        meter = ConsumerMetrics(process.metrics, process.heartbeat, group=group, clock=process.clock)
        ports = ConsumerPorts(
            clock=process.clock,
            chance=process.chance,
            publisher=self._event_publisher,
            dead_letters=self._dead_letters(group),
            schemas=self._schema_finder,
            shards=spec.shards,
            tracer=process.traces,
            meter=meter,
            on_given_up=spec.on_given_up,
            on_caught_up=spec.on_caught_up,
            claim_of=spec.claim_of,
            read_gate=spec.read_gate,
        )
        loop = ConsumerLoop(
            process.bus,
            process.codec,
            spec.subscriptions,
            replace(spec.group, session_timeout_seconds=settings.kafka.session_timeout_seconds),
            ports=ports,
            settings=replace(spec.settings, stop_timeout_seconds=drain_seconds(settings.run.grace_seconds)),
        )
        self._loops.append(loop)
        self.watched.append(WatchedLoop(loop, meter))

    def _dead_letters(self, group: str) -> DeadLetterWriter:
        process = self._context
        if self._definition.dead_letters is None:
            raise ValueError(f"{process.name} consumes, but names no topic for dead letters")
        worker = f"{socket.gethostname()}:{os.getpid()}"
        return DeadLetterWriter(
            self._definition.dead_letters,
            DeadLetterOrigin(process.name, group, version=self._version, worker_id=worker),
            clock=process.clock,
            objects=self._definition.objects,
            scrub=SecretScrubber(secret_values(process.settings)).scrub,
        )

    async def declare_schemas(self) -> None:
        """Have every schema that is written here acknowledged; call again where that raises Unavailable."""
        producer = await self._context.bus.producer()
        try:
            await self._schema_publisher.publish(producer, written_topics(self._definition))
        finally:
            await producer.close()

    def coroutines(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """Yield the name and the coroutine of each loop."""
        for loop in self._loops:
            yield f"consume {loop.group}", loop.run()

    def stop(self) -> None:
        """Let every loop finish the messages in flight."""
        for loop in self._loops:
            loop.request_stop()

    def pauses(self) -> Iterator[str]:
        """Yield the pauses of all loops."""
        return _describe_pauses((loop.group, loop.paused_reasons) for loop in self._loops)

    def exempt_pauses(self) -> Iterator[str]:
        """Yield those pauses that the watchdog accepts as a reason why nothing moves."""
        return _describe_pauses((loop.group, loop.exempt_pauses) for loop in self._loops)

    async def close(self) -> None:
        """Close what the loops shared."""
        await self._event_publisher.close()
        await self._schema_finder.close()
        if self._registry is not None:
            await self._registry.close()


def drain_seconds(shutdown_seconds: float) -> float:
    """Return how much of the shutdown time is for messages in flight."""
    return max(0.0, shutdown_seconds * DRAIN_SHARE - STOP_NOTICE_SECONDS)


def written_topics(definition: ServiceDefinition) -> Sequence[Topic[Any]]:
    """Return the topics that a service writes, dead letters included."""
    dead_letters = () if definition.dead_letters is None else (definition.dead_letters,)
    return (*definition.produces, *dead_letters)


def all_topics(definition: ServiceDefinition) -> Sequence[Topic[Any]]:
    """Return every topic that a service reads or writes, each once."""
    read = (reads.topic for consumption in definition.consumers for reads in consumption.subscriptions)
    return tuple({topic.name: topic for topic in (*read, *written_topics(definition), SCHEMAS)}.values())


def _describe_pauses(pauses: Iterable[tuple[str, Mapping[str, str]]]) -> Iterator[str]:
    for group, reasons in pauses:
        for reason, detail in reasons.items():
            yield f"{group}: {reason}: {detail}"


def open_schema_registry(settings: SchemaRegistrySettings) -> SchemaRegistryClient | None:
    """Return a client of the schema registry; None where there is none."""
    url = settings.url.get_secret_value()
    if not url:
        return None
    # Its HTTP client is loaded only where a registry is configured.
    from strider.messaging.schema_registry_client import SchemaRegistryClient  # noqa: PLC0415

    return SchemaRegistryClient(
        url,
        username=settings.username,
        password=settings.password.get_secret_value(),
        ca_file=settings.ca_file,
    )
