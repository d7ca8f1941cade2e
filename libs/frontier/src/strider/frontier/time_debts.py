"""Shares of a host's time: debts of flows whose requests held it for longer than a turn.

A turn on a host group is one request, of up to the delay of the group. What a request takes beyond that is
owed to the flows that wait there when it ends: each gets as much time, before the flow has its next turn. A
raw sender owes twelve times as much where an owner waits; raw senders together owe owners as much as one of
them took, however many names they have. Owners owe to owners alone. An owner's slow requests pay back what
raw senders owe: the host is slow then, and not they. A flow that is alone waits for none, and time that is
not used is not saved up. Pure; the Redis functions have the same in `frontier_part_debts.lua`.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from .turns import flow_of_queue, is_of_owner, is_raw_flow

TURN_MS: Final = 250
"""Duration of a turn where the delay of the group is shorter."""

RAW_TIMES: Final = 12
"""How often a raw sender owes to others what it took, where an owner waits."""

ACTIVE_MS: Final = 10_000
"""How long after a turn its flow may have found no further page and still counts as waiting."""

NEVER: Final = sys.maxsize


@dataclass(slots=True)
class TimeDebt:
    """Debt of a flow: until when it leaves its turns to others."""

    excess_ms: int
    """Time beyond a turn that its slow request took."""
    until_ms: int


@dataclass(slots=True)
class TimeDebts:
    """Debts at one host group."""

    by_flow: dict[int, TimeDebt] = field(default_factory=dict)
    raw_until_ms: int = 0
    """Until when raw senders together leave their turns to owners."""

    def charge(self, flow: int, took_ms: int, waiting: Collection[int], *, turn_ms: int, now_ms: int) -> None:
        """Charge a flow for a request that took longer than a turn, while these flows waited."""
        excess_ms = took_ms - turn_ms
        others = set(waiting) - {flow}
        owners = sum(not is_raw_flow(each) for each in others)
        if not is_raw_flow(flow):
            self._pay_back(excess_ms)
            return self._owe(flow, excess_ms, times=owners, now_ms=now_ms)
        if owners:
            self.raw_until_ms = max(self.raw_until_ms, now_ms + took_ms)
        times = max(RAW_TIMES, len(others)) if owners else len(others)
        return self._owe(flow, excess_ms, times=times, now_ms=now_ms)

    def select(
        self, queues: Sequence[int], at_ms: int, *, last_flow: int, last_turn_ms: int
    ) -> tuple[Sequence[int], int]:
        """Return those of the queues that may go first at a time, or none and when to select again.

        Debtors leave their turns to others that are ready, or whose turn was the last, a moment ago.
        """
        if not queues or not self.by_flow:
            return queues, NEVER
        owners = [queue for queue in queues if is_of_owner(queue)]
        paid = [queue for queue in queues if self._until_ms(flow_of_queue(queue)) <= at_ms]
        if owners:
            first = [queue for queue in paid if is_of_owner(queue)] or owners
            raw = [] if self.raw_until_ms > at_ms else [queue for queue in paid if not is_of_owner(queue)]
            return first + raw, NEVER
        resume_ms = min(self._resume_ms(queues, at_ms, last_flow=last_flow), last_turn_ms + ACTIVE_MS)
        return ([], resume_ms) if resume_ms > at_ms else (paid or queues, NEVER)

    def is_over(self, now_ms: int) -> bool:
        """Whether nothing is owed."""
        return max((self.raw_until_ms, *(debt.until_ms for debt in self.by_flow.values()))) <= now_ms

    def _resume_ms(self, queues: Sequence[int], at_ms: int, *, last_flow: int) -> int:
        """Return until when raw senders with these queues leave their turns to the flow served last."""
        until_ms = min(self._until_ms(flow_of_queue(queue)) for queue in queues)
        if not is_raw_flow(last_flow):
            return max(until_ms, self.raw_until_ms)
        return 0 if self._until_ms(last_flow) > at_ms else until_ms

    def _until_ms(self, flow: int) -> int:
        debt = self.by_flow.get(flow)
        return debt.until_ms if debt else 0

    def _owe(self, flow: int, excess_ms: int, *, times: int, now_ms: int) -> None:
        until_ms = now_ms + excess_ms * times
        if times and until_ms > self._until_ms(flow):
            self.by_flow[flow] = TimeDebt(excess_ms, until_ms)

    def _pay_back(self, excess_ms: int) -> None:
        """Reduce debts of raw senders: by all for a request as slow as theirs, by the square for less."""
        for flow, debt in self.by_flow.items():
            if is_raw_flow(flow):
                paid_ms = RAW_TIMES * excess_ms * min(excess_ms, debt.excess_ms) // debt.excess_ms
                debt.until_ms -= paid_ms
