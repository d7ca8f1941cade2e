"""Messages whose writer's schema is not known yet: their partition waits while it is looked for.

Only when the place where schemas come from was read to its end, as it was after the message had
come, is an unknown schema the message's own fault.
"""

from __future__ import annotations

import asyncio

from strider.contracts import UnknownSchema

from .errors import Unavailable
from .loop_pauses import Pauses, Spawn, pause_before
from .loop_settings import LoopPorts, LoopSettings
from .loop_units import Add, Unit

_Wanted = tuple[bytes | None, int | None]


class SchemaWaits:
    """Who waits for which schema. One search at a time for each, whoever needs it."""

    def __init__(self, *, ports: LoopPorts, settings: LoopSettings, pauses: Pauses) -> None:
        self._ports = ports
        self._settings = settings
        self._pauses = pauses
        self._waiting: dict[_Wanted, list[Unit]] = {}
        self._searching = asyncio.Lock()
        """One search at a time: a flood of made-up schemas must not become one of searches."""

    def wait(self, unit: Unit, unknown: UnknownSchema, *, add: Add, spawn: Spawn) -> bool:
        """Let a unit wait for a search that begins after it came; False where that was done already."""
        wanted = (unknown.fingerprint, unknown.registry_id)
        if unit.searched_for == wanted:
            return False
        word = _hold(unknown)
        for partition in unit.partitions():
            partition.holds.add(word)
        waiting = self._waiting.get(wanted)
        if waiting is None:
            self._waiting[wanted] = [unit]
            spawn(self._search(unknown, wanted, add=add))
        else:
            waiting.append(unit)
        return True

    async def _search(self, unknown: UnknownSchema, wanted: _Wanted, *, add: Add) -> None:
        word, attempt = _hold(unknown), 1
        while True:
            try:
                async with self._searching:
                    early = list(self._waiting[wanted])  # a search says nothing to those who come during it
                    await self._ports.schemas.find(unknown)
            except Unavailable as failure:
                self._pauses.state(word, f"{unknown.detail} here, and {failure}")
                await pause_before(attempt, ports=self._ports, settings=self._settings)
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

    def _go_on(self, units: list[Unit], word: str, wanted: _Wanted, *, held: set[int], add: Add) -> None:
        for unit in units:
            for partition in unit.partitions():
                if id(partition) not in held:
                    partition.holds.discard(word)
            if not unit.is_closed:
                unit.searched_for = wanted
                add(unit)


def _hold(unknown: UnknownSchema) -> str:
    return f"schema {unknown.fingerprint.hex() if unknown.fingerprint else unknown.registry_id}"
