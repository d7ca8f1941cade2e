"""Pauses between two round trips to the broker, so that each one carries more.

A round trip costs client and broker as much for one message as for many. Decides the pause alone: none after
a single message, so that one URL passes all services without waiting; longer and longer while each round trip
brings several. It knows nothing of what is carried; how the client library is made to pause is below.
"""

# ruff: noqa: SLF001  # reaching inside is what the lower half of this file is for

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

_MIN_PAUSE_SECONDS: Final = 0.005
_BATCHING_MESSAGES: Final = 2
"""Messages of a round trip from which on it pays to wait for more."""


class BatchingPace:
    """Pauses of one consumer or producer; with a maximum of 0 there are none."""

    def __init__(self, max_pause_seconds: float, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._max_pause_seconds = max_pause_seconds
        self._monotonic = monotonic
        self._pause_seconds = 0.0
        self._paused_until = 0.0

    def record_round_trip(self, messages: int, *, is_full: bool = False) -> None:
        """Record what a round trip has carried; a full one means that more is waiting already."""
        if messages >= _BATCHING_MESSAGES:
            longer = max(2 * self._pause_seconds, _MIN_PAUSE_SECONDS)
            self._pause_seconds = min(longer, self._max_pause_seconds)
        else:
            shorter = self._pause_seconds / 2 if messages else 0.0
            self._pause_seconds = shorter if shorter >= _MIN_PAUSE_SECONDS else 0.0
        self._paused_until = 0.0 if is_full else self._monotonic() + self._pause_seconds

    @property
    def pause_left_seconds(self) -> float:
        """Return the pause before the next round trip."""
        if not self._paused_until:
            return 0.0
        return max(0.0, self._paused_until - self._monotonic())


def pace_fetches(consumer: Any, pace: BatchingPace) -> None:
    """Have a started consumer of the library send no fetch during a pause.

    What is to be fetched is looked up again after the pause, so positions and assignment are current. The
    library looks through all partitions whenever something was read of one: during a pause that is skipped,
    unless the last look has found something else to be done.
    """
    fetcher = consumer._fetcher
    plan = fetcher._get_actions_per_node
    nothing = planned = object()
    """The assignment that had nothing but fetches to be made when it was last looked through."""

    def plan_unless_paused(assignment: Any) -> Any:
        nonlocal planned
        left = pace.pause_left_seconds
        if left and assignment is planned:
            return [], {}, left, False, []
        fetches, resets, wait_seconds, is_stale, resumes = plan(assignment)
        planned = nothing if resets or is_stale or resumes else assignment
        if fetches and left:
            return [], resets, min(wait_seconds, left), is_stale, resumes
        return fetches, resets, wait_seconds, is_stale, resumes

    fetcher._get_actions_per_node = plan_unless_paused


def pace_sends(producer: Any, pace: BatchingPace) -> None:
    """Have a producer of the library send nothing during a pause; messages meanwhile go together.

    The library's own linger holds back each batch from its beginning: a lone one as well, and the batches of
    a dozen partitions one after the other.
    """
    accumulator = producer._message_accumulator
    drain = accumulator.drain_by_nodes

    def drain_unless_paused(ignore_nodes: Any, muted_partitions: Any = frozenset()) -> Any:
        left = pace.pause_left_seconds
        if not left:
            nodes, are_leaders_unknown = drain(ignore_nodes, muted_partitions)
            if nodes:
                pace.record_round_trip(
                    sum(b.record_count for batches in nodes.values() for b in batches.values())
                )
            return nodes, are_leaders_unknown
        all_nodes = {broker.nodeId for broker in accumulator._cluster.brokers()}
        found = drain(all_nodes, muted_partitions)
        loop = asyncio.get_running_loop()
        accumulator._wakeup_handle = loop.call_later(left, accumulator._wakeup, accumulator._waiter_future)
        return found

    accumulator.drain_by_nodes = drain_unless_paused
