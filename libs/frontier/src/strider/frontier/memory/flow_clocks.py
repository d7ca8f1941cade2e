"""Clocks of raw flows in memory: of those with a longer delay than their host group.

Decides the same as `frontier_part_paces.lua`. Such a flow gives its turns to others until its clock allows
the next request, and has one request in flight.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class FlowClock:
    """Time before which no request of a flow is leased."""

    delay_ms: int
    next_start_ms: int
    """NEVER while its request is in flight."""
    sequence: int = 0
    """Lease of its request in flight; 0 for none."""


@dataclass(slots=True)
class FlowClocks:
    """Clocks of one host group, by flow."""

    by_flow: dict[int, FlowClock] = field(default_factory=dict)

    def hold(self, flow: int, clock: FlowClock) -> None:
        """Hold back a flow until a time; a request in flight holds it back until that ends."""
        known = self.by_flow.get(flow)
        if known is None or known.next_start_ms <= clock.next_start_ms:
            self.by_flow[flow] = clock

    def end(self, sequence: int, began_at_ms: int) -> None:
        """Move the clock of the flow that a lease holds back to start + delay; a start of 0 frees it."""
        for clock in self.by_flow.values():
            if clock.sequence == sequence:
                clock.next_start_ms = began_at_ms + clock.delay_ms if began_at_ms else 0
                clock.sequence = 0

    def next_start_ms(self, flow: int) -> int:
        """Return until when a flow is held back; 0 where it is not."""
        clock = self.by_flow.get(flow)
        return clock.next_start_ms if clock is not None else 0

    def is_over(self, now_ms: int) -> bool:
        """Whether no flow is held back; what is over is forgotten."""
        self.by_flow = {flow: clock for flow, clock in self.by_flow.items() if clock.next_start_ms > now_ms}
        return not self.by_flow
