"""echoes -> count -> tallies (in the shard's transaction)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, Protocol

from strider.contracts.generated.events import Echoed, TallyKept
from strider.contracts.generated.topics import ECHOES, TALLIES, TALLY_DLQ
from strider.messaging.effects import Effects, Subscription
from strider.messaging.ports import Record

from .core import count

CONSUMES: Final = (ECHOES,)
PRODUCES: Final = (TALLIES,)
DEAD_LETTERS: Final = TALLY_DLQ

Place = tuple[int, str]
"""Shard and host of a tally."""


class Ledger(Protocol):
    """Store of the tallies."""

    def tally(self, place: Place) -> TallyKept | None:
        """Return the tally as it was stored last."""

    async def keep(self, tallies: Mapping[Place, TallyKept]) -> None:
        """Store tallies durably; raises Unavailable or ShardFenced where that was not done."""


class Tally:
    """Load, decide, write state; the state is the topic, so publishing and writing state are one."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Return which topic goes to which method."""
        return (Subscription(ECHOES, batch_handler=self.on_echoes),)

    async def on_echoes(self, echoes: Sequence[tuple[Echoed, Record]]) -> Effects:
        """Count the echoes of one poll, with one record for each host among them."""
        changed: dict[Place, TallyKept] = {}
        for echoed, record in echoes:
            place = (record.partition, echoed.host)
            before = changed.get(place) or self._ledger.tally(place)
            after = count(before, echoed, offset=record.offset, timestamp_ms=record.timestamp)
            if after is not None:
                changed[place] = after
        if not changed:
            return Effects(outcome="repeated")
        return Effects(after_ack=partial(self._ledger.keep, changed), outcome="counted")
