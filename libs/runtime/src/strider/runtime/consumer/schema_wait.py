"""Messages that wait for the schemas of their writers.

One search at a time answers for every message that waited when it began, and for every schema that these
name: so a stranger who invents a schema for each message makes no more searches than one who invents one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from strider.contracts import UnknownSchema
from strider.messaging.errors import Unavailable
from strider.runtime.retry import Backoff

from .messages import Enqueue, InFlightMessage
from .pauses import Pauses, Spawn
from .spec import ConsumerPorts

SCHEMA: Final = "schema"
"""Reason of partitions that are not read, and of the pause, while a search lasts."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    message: InFlightMessage
    unknown: Sequence[UnknownSchema]


class SchemaWaitList:
    """Messages that wait for a search of schemas; each of them for one that began after its arrival."""

    def __init__(self, *, ports: ConsumerPorts, pauses: Pauses) -> None:
        self._ports = ports
        self._pauses = pauses
        self._waiting: list[_Waiting] = []

    def wait(
        self, message: InFlightMessage, unknown: Sequence[UnknownSchema], *, add: Enqueue, spawn: Spawn
    ) -> bool:
        """Hold a message for a search that begins after its arrival; False where that was done already."""
        if message.was_searched_for:
            return False
        for partition in message.partitions():
            partition.hold_reasons.add(SCHEMA)
        self._waiting.append(_Waiting(message, unknown))
        if len(self._waiting) == 1:
            spawn(self._search_all(add))
        return True

    async def _search_all(self, add: Enqueue) -> None:
        backoff = Backoff(clock=self._ports.clock, chance=self._ports.chance)
        while self._waiting:
            early = await backoff.until_available(self._search, on_failure=self._report)
            late = self._waiting[len(early) :]
            if not late:
                self._pauses.clear(SCHEMA)
            held = {id(partition) for each in late for partition in each.message.partitions()}
            self._resume(early, held=held, add=add)
            # Last: a message that begins to wait on an empty list begins a search.
            del self._waiting[: len(early)]

    async def _search(self) -> list[_Waiting]:
        # A search proves nothing for messages that arrive during it.
        early = list(self._waiting)
        distinct = {(each.fingerprint, each.registry_id): each for one in early for each in one.unknown}
        await self._ports.schemas.find(*distinct.values())
        return early

    def _report(self, failure: Unavailable) -> None:
        unknown = self._waiting[0].unknown[0]
        self._pauses.begin(SCHEMA, f"{unknown.detail} here, and {failure}")

    def _resume(self, searched: Sequence[_Waiting], *, held: set[int], add: Enqueue) -> None:
        for message in (each.message for each in searched):
            for partition in message.partitions():
                if id(partition) not in held:
                    partition.hold_reasons.discard(SCHEMA)
            if not message.is_closed:
                message.was_searched_for = True
                add(message)
