"""Pages that wait for a worker: whose is parsed next, by the time that each sender has used.

Start-time fair queueing, three times: the two halves of owners and raw senders share the time of the parser
equally, in a half its flows, in a flow its host groups; pages of one group come in their order. A sender who
waits for nothing saves nothing up. The charge of a page is what it is expected to cost, and is corrected when
that is known. Pure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from strider.frontier.turns import is_raw_flow

from .parsing_costs import PageSender

Key = TypeVar("Key", bound=Hashable)
T = TypeVar("T")

MAX_KEPT_TIMES: Final = 1_000
"""Sharers without waiting pages whose used time is kept, for each set of sharers."""


@dataclass(slots=True)
class FairShare(Generic[Key]):
    """Equal shares of time among some sharers."""

    _used: dict[Key, float] = field(default_factory=dict)
    _now: float = 0.0
    """The used time at which the sharer served last began."""

    def next_of(self, waiting: Collection[Key]) -> Key:
        """Return the one that has used least."""
        return min(waiting, key=self._used_by)

    def serve(self, sharer: Key) -> None:
        """Note that a sharer is served now: no later one has used less."""
        self._now = self._used_by(sharer)

    def charge(self, sharer: Key, seconds: float) -> None:
        """Charge a time, or give some back."""
        self._used[sharer] = self._used_by(sharer) + seconds
        if len(self._used) > MAX_KEPT_TIMES:
            self._used = {key: used for key, used in self._used.items() if used > self._now}

    def _used_by(self, sharer: Key) -> float:
        return max(self._used.get(sharer, 0.0), self._now)


@dataclass(slots=True)
class _Flow(Generic[T]):
    """Waiting pages of one flow, by host group."""

    groups: dict[str, deque[tuple[PageSender, T]]] = field(default_factory=dict)
    share: FairShare[str] = field(default_factory=FairShare)


class FairQueue(Generic[T]):
    """Waiting pages of all senders."""

    def __init__(self) -> None:
        self._flows: dict[int, _Flow[T]] = {}
        self._waiting: tuple[set[int], set[int]] = (set(), set())
        """Flows with waiting pages, of owners and of raw senders."""
        self._halves: FairShare[int] = FairShare()
        self._shares: tuple[FairShare[int], FairShare[int]] = (FairShare(), FairShare())
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[PageSender, T]]:
        """Iterate over the waiting pages, those of one host group in their order."""
        for flow in self._flows.values():
            for pages in flow.groups.values():
                yield from pages

    def put(self, source: PageSender, item: T) -> None:
        """Add a page behind those of its flow and group."""
        number = source.flow
        flow = self._flows.setdefault(number, _Flow())
        flow.groups.setdefault(source.group, deque()).append((source, item))
        self._waiting[_half_of(number)].add(number)
        self._count += 1

    def next_source(self) -> PageSender | None:
        """Return the source of the page that comes next; None where none waits."""
        halves = [half for half in (0, 1) if self._waiting[half]]
        if not halves:
            return None
        half = self._halves.next_of(halves)
        flow = self._flows[self._shares[half].next_of(self._waiting[half])]
        return flow.groups[flow.share.next_of(flow.groups)][0][0]

    def take(self, source: PageSender) -> T:
        """Remove the first page of the group of a source, which is served now, and return it."""
        number = source.flow
        flow = self._flows[number]
        self._halves.serve(_half_of(number))
        self._shares[_half_of(number)].serve(number)
        flow.share.serve(source.group)
        _, item = flow.groups[source.group].popleft()
        self._forget_if_empty(source)
        self._count -= 1
        return item

    def remove(self, source: PageSender, item: T) -> None:
        """Remove one page, whatever its place."""
        self._flows[source.flow].groups[source.group].remove((source, item))
        self._forget_if_empty(source)
        self._count -= 1

    def charge(self, source: PageSender, seconds: float) -> None:
        """Charge the sharers of a source."""
        number = source.flow
        half = _half_of(number)
        self._halves.charge(half, seconds)
        self._shares[half].charge(number, seconds)
        self._flows.setdefault(number, _Flow()).share.charge(source.group, seconds)

    def _forget_if_empty(self, source: PageSender) -> None:
        number = source.flow
        flow = self._flows[number]
        if not flow.groups[source.group]:
            del flow.groups[source.group]
        if not flow.groups:
            self._waiting[_half_of(number)].discard(number)


def _half_of(flow: int) -> int:
    return int(is_raw_flow(flow))
