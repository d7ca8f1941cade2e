"""Messages whose writer's schema is not known yet: their partition waits while it is looked for.

Only when the place where schemas come from was read to its end, as it was after the message had
come, is an unknown schema the message's own fault.
"""

from __future__ import annotations

import asyncio

from strider.contracts import UnknownSchema
from strider.messaging.errors import Unavailable

from .messages import Enqueue, InFlightMessage
from .pauses import Pauses, Spawn, wait_before_attempt
from .spec import ConsumerPorts, ConsumerSettings

_SchemaKey = tuple[bytes | None, int | None]


class SchemaWaitList:
    """Who waits for which schema. One search at a time for each, whoever needs it."""

    def __init__(self, *, ports: ConsumerPorts, settings: ConsumerSettings, pauses: Pauses) -> None:
        self._ports = ports
        self._settings = settings
        self._pauses = pauses
        self._waiting: dict[_SchemaKey, list[InFlightMessage]] = {}
        self._searching = asyncio.Lock()
        """One search at a time: a flood of made-up schemas must not become one of searches."""

    def wait(self, message: InFlightMessage, unknown: UnknownSchema, *, add: Enqueue, spawn: Spawn) -> bool:
        """Let a unit wait for a search that begins after it came; False where that was done already."""
        wanted = (unknown.fingerprint, unknown.registry_id)
        if message.searched_schema == wanted:
            return False
        word = _hold_reason(unknown)
        for partition in message.partitions():
            partition.hold_reasons.add(word)
        waiting = self._waiting.get(wanted)
        if waiting is None:
            self._waiting[wanted] = [message]
            spawn(self._search(unknown, wanted, add=add))
        else:
            waiting.append(message)
        return True

    async def _search(self, unknown: UnknownSchema, wanted: _SchemaKey, *, add: Enqueue) -> None:
        word, attempt = _hold_reason(unknown), 1
        while True:
            try:
                async with self._searching:
                    early = list(self._waiting[wanted])  # a search says nothing to those who come during it
                    await self._ports.schemas.find(unknown)
            except Unavailable as failure:
                self._pauses.begin(word, f"{unknown.detail} here, and {failure}")
                await wait_before_attempt(attempt, ports=self._ports, settings=self._settings)
                attempt += 1
                continue
            attempt = 1
            late = self._waiting[wanted] = self._waiting[wanted][len(early) :]
            if not late:
                del self._waiting[wanted]
                self._pauses.clear(word)
            self._go_on(
                early, word, wanted, held={id(p) for unit in late for p in unit.partitions()}, add=add
            )
            if not late:
                return

    def _go_on(
        self,
        messages: list[InFlightMessage],
        reason: str,
        wanted: _SchemaKey,
        *,
        held: set[int],
        add: Enqueue,
    ) -> None:
        for unit in messages:
            for partition in unit.partitions():
                if id(partition) not in held:
                    partition.hold_reasons.discard(reason)
            if not unit.is_closed:
                unit.searched_schema = wanted
                add(unit)


def _hold_reason(unknown: UnknownSchema) -> str:
    return f"schema {unknown.fingerprint.hex() if unknown.fingerprint else unknown.registry_id}"
