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

from .deadletters import DeadLetters, Origin
from .logs import Scrubber
from .loop import ConsumerLoop
from .loop_settings import LoopPorts
from .metrics_meter import LoopMeter
from .schemas import SchemaFinder, SchemaPublisher
from .service_consumption import Consumption
from .service_patient import Ward
from .service_wiring import Process, Wiring
from .settings import RegistrySettings, secrets_of
from .speaking import Speaker

if TYPE_CHECKING:
    from .registry import RegistryClient

SHARE_OF_GRACE: Final = 0.8
"""Part of the grace for what is in hand; the rest is for the last commit and for closing."""
NOTICE_SECONDS: Final = 0.5
"""How long a loop that polls may take to notice that it is to stop."""


class Consumers:
    """All loops of one process."""

    def __init__(self, process: Process[Any], wiring: Wiring, *, version: str) -> None:
        self._process = process
        self._wiring = wiring
        self._version = version
        settings = process.settings
        self._registry = open_registry(settings.registry)
        self._finder = SchemaFinder(process.bus, codec=process.codec, registry=self._registry)
        self._publisher = SchemaPublisher(
            process.name, codec=process.codec, clock=process.clock, registry=self._registry
        )
        self._speaker = Speaker(
            process.bus,
            process.codec,
            service=process.name,
            shards=settings.run.shards,
            clock=process.clock,
        )
        self._loops: list[ConsumerLoop] = []
        self.wards: list[Ward] = []
        for consumption in wiring.consumes:
            self._add(consumption)

    def _add(self, consumption: Consumption) -> None:
        process, settings = self._process, self._process.settings
        group = consumption.spec.group
        meter = LoopMeter(process.metrics, process.heartbeat, group=group, clock=process.clock)
        ports = LoopPorts(
            clock=process.clock,
            chance=process.chance,
            speaker=self._speaker,
            dead_letters=self._dead_letters(group),
            schemas=self._finder,
            shards=consumption.shards,
            trace=process.traces,
            meter=meter,
            on_given_up=consumption.on_given_up,
            on_caught_up=consumption.on_caught_up,
        )
        loop = ConsumerLoop(
            process.bus,
            process.codec,
            consumption.reads,
            replace(consumption.spec, session_timeout_seconds=settings.kafka.session_timeout_seconds),
            ports=ports,
            settings=replace(
                consumption.settings, stop_grace_seconds=working_seconds(settings.run.grace_seconds)
            ),
        )
        self._loops.append(loop)
        self.wards.append(Ward(loop, meter))

    def _dead_letters(self, group: str) -> DeadLetters:
        process = self._process
        if self._wiring.dead_letters is None:
            raise ValueError(f"{process.name} consumes, but names no topic for dead letters")
        worker = f"{socket.gethostname()}:{os.getpid()}"
        return DeadLetters(
            self._wiring.dead_letters,
            Origin(process.name, group, version=self._version, worker_id=worker),
            clock=process.clock,
            objects=self._wiring.objects,
            scrub=Scrubber(secrets_of(process.settings)).text,
        )

    async def declare_schemas(self) -> None:
        """Have every schema that is written here acknowledged; repeated where that raises Unavailable."""
        producer = await self._process.bus.producer()
        try:
            await self._publisher.publish(producer, written_topics(self._wiring))
        finally:
            await producer.close()

    def works(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
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

    def excuses(self) -> Iterator[str]:
        """Give those of them that excuse a loop in which nothing moves."""
        return _told((loop.group, loop.excuses) for loop in self._loops)

    async def close(self) -> None:
        """Close what the loops shared."""
        await self._speaker.close()
        await self._finder.close()
        if self._registry is not None:
            await self._registry.close()


def working_seconds(grace_seconds: float) -> float:
    """How much of the grace is for what is in hand."""
    return max(0.0, grace_seconds * SHARE_OF_GRACE - NOTICE_SECONDS)


def written_topics(wiring: Wiring) -> Sequence[Topic[Any]]:
    """List the topics that a service writes, dead letters included."""
    letters = () if wiring.dead_letters is None else (wiring.dead_letters,)
    return (*wiring.produces, *letters)


def topics_of(wiring: Wiring) -> Sequence[Topic[Any]]:
    """List every topic that a service reads or writes, each once."""
    read = (reads.topic for consumption in wiring.consumes for reads in consumption.reads)
    return tuple({topic.name: topic for topic in (*read, *written_topics(wiring), SCHEMAS)}.values())


def _told(pauses: Iterable[tuple[str, Mapping[str, str]]]) -> Iterator[str]:
    for group, reasons in pauses:
        for word, why in reasons.items():
            yield f"{group}: {word}: {why}"


def open_registry(settings: RegistrySettings) -> RegistryClient | None:
    """Make a client of the schema registry; None where there is none."""
    url = settings.url.get_secret_value()
    if not url:
        return None
    # Its HTTP client is loaded by those only who have a registry.
    from .registry import RegistryClient  # noqa: PLC0415

    return RegistryClient(
        url,
        username=settings.username,
        password=settings.password.get_secret_value(),
        ca_file=settings.ca_file,
    )
