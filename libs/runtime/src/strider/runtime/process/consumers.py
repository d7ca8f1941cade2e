"""The consumer loops of a process, and what they share: one speaker, one book of schemas.

Puts a service's wiring and the runtime's parts together. Decides nothing about messages.
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
"""Part of the grace for what is in hand; the rest is for the last commit and for closing."""
STOP_NOTICE_SECONDS: Final = 0.5
"""How long a loop that polls may take to notice that it is to stop."""


class ServiceConsumers:
    """All loops of one process."""

    def __init__(self, context: ServiceContext[Any], wiring: ServiceDefinition, *, version: str) -> None:
        self._process = context
        self._definition = wiring
        self._version = version
        settings = context.settings
        self._registry = open_schema_registry(settings.registry)
        self._finder = SchemaFinder(context.bus, codec=context.codec, registry=self._registry)
        self._schema_publisher = SchemaPublisher(
            context.name, codec=context.codec, clock=context.clock, registry=self._registry
        )
        self._speaker = EventPublisher(
            context.bus,
            context.codec,
            service=context.name,
            shards=settings.run.shards,
            clock=context.clock,
        )
        self._loops: list[ConsumerLoop] = []
        self.wards: list[WatchedLoop] = []
        for consumption in wiring.consumers:
            self._add(consumption)

    def _add(self, spec: ConsumerSpec) -> None:
        process, settings = self._process, self._process.settings
        group = spec.group.group
        meter = ConsumerMetrics(process.metrics, process.heartbeat, group=group, clock=process.clock)
        ports = ConsumerPorts(
            clock=process.clock,
            chance=process.chance,
            publisher=self._speaker,
            dead_letters=self._dead_letters(group),
            schemas=self._finder,
            shards=spec.shards,
            tracer=process.traces,
            meter=meter,
            on_given_up=spec.on_given_up,
            on_caught_up=spec.on_caught_up,
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
        self.wards.append(WatchedLoop(loop, meter))

    def _dead_letters(self, group: str) -> DeadLetterWriter:
        process = self._process
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
        """Have every schema that is written here acknowledged; repeated where that raises Unavailable."""
        producer = await self._process.bus.producer()
        try:
            await self._schema_publisher.publish(producer, written_topics(self._definition))
        finally:
            await producer.close()

    def coroutines(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """Give what runs, with its names."""
        for loop in self._loops:
            yield f"consume {loop.group}", loop.run()

    def stop(self) -> None:
        """Let every loop finish what it has in hand."""
        for loop in self._loops:
            loop.request_stop()

    def pauses(self) -> Iterator[str]:
        """Give the stated pauses of all loops."""
        return _told((loop.group, loop.paused_reasons) for loop in self._loops)

    def exempt_pauses(self) -> Iterator[str]:
        """Give those of them that excuse a loop in which nothing moves."""
        return _told((loop.group, loop.exempt_pauses) for loop in self._loops)

    async def close(self) -> None:
        """Close what the loops shared."""
        await self._speaker.close()
        await self._finder.close()
        if self._registry is not None:
            await self._registry.close()


def drain_seconds(shutdown_seconds: float) -> float:
    """How much of the grace is for what is in hand."""
    return max(0.0, shutdown_seconds * DRAIN_SHARE - STOP_NOTICE_SECONDS)


def written_topics(wiring: ServiceDefinition) -> Sequence[Topic[Any]]:
    """List the topics that a service writes, dead letters included."""
    letters = () if wiring.dead_letters is None else (wiring.dead_letters,)
    return (*wiring.produces, *letters)


def all_topics(wiring: ServiceDefinition) -> Sequence[Topic[Any]]:
    """List every topic that a service reads or writes, each once."""
    read = (reads.topic for consumption in wiring.consumers for reads in consumption.subscriptions)
    return tuple({topic.name: topic for topic in (*read, *written_topics(wiring), SCHEMAS)}.values())


def _told(pauses: Iterable[tuple[str, Mapping[str, str]]]) -> Iterator[str]:
    for group, reasons in pauses:
        for word, why in reasons.items():
            yield f"{group}: {word}: {why}"


def open_schema_registry(settings: SchemaRegistrySettings) -> SchemaRegistryClient | None:
    """Make a client of the schema registry; None where there is none."""
    url = settings.url.get_secret_value()
    if not url:
        return None
    # Its HTTP client is loaded by those only who have a registry.
    from strider.messaging.schema_registry_client import SchemaRegistryClient  # noqa: PLC0415

    return SchemaRegistryClient(
        url,
        username=settings.username,
        password=settings.password.get_secret_value(),
        ca_file=settings.ca_file,
    )
