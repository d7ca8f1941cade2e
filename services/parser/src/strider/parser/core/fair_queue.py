"""Pages that wait for a worker: whose is parsed next, by the time that each sender has used.

Start-time fair queueing, three times: the two halves of owners and raw senders share the time of the parser
equally, in a half its flows, in a flow its host groups; pages of one group come in their order. A sender who
waits for nothing saves nothing up. The charge of a page is what it is expected to cost, and is corrected when
that is known. Pure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final, Generic, TypeVar

from .parsing_costs import PageSender

Key = TypeVar("Key", bound=Hashable)
T = TypeVar("T")

MAX_KEPT_TIMES: Final = 1_000
"""Sharers without waiting pages whose used time is kept, for each set of sharers."""
MAX_OUTDATED_TIMES: Final = 64
"""Outdated times in a heap, beside as many as there are waiting sharers."""

_ORDER: Final = count()


class FairShare(Generic[Key]):
    """Equal shares of time among some sharers; which of the waiting ones is next is kept in a heap."""

    __slots__ = ("_heap", "_kept_times", "_now", "_used", "_waiting")

    def __init__(self) -> None:
        self._used: dict[Key, float] = {}
        self._now = 0.0
        """The used time at which the sharer served last began."""
        self._kept_times = MAX_KEPT_TIMES
        self._waiting: dict[Key, float] = {}
        """The used time by which a waiting sharer is in the heap."""
        self._heap: list[tuple[float, int, Key]] = []
        """Used times with a number for their order; what differs from `_waiting` is outdated."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, sharer: Key) -> None:
        """Note that a sharer has something that waits."""
        if sharer not in self._waiting:
            self._push(sharer)

    def discard(self, sharer: Key) -> None:
        """Note that nothing of a sharer waits any more."""
        self._waiting.pop(sharer, None)

    def next(self) -> Key:
        """Return the waiting sharer that has used least; raises IndexError where none waits."""
        while True:
            used, _, sharer = self._heap[0]
            if self._waiting.get(sharer) == used:
                return sharer
            heappop(self._heap)

    def serve(self, sharer: Key) -> None:
        """Note that a sharer is served now: no later one has used less."""
        self._now = self._used_by(sharer)

    def charge(self, sharer: Key, seconds: float) -> None:
        """Charge a time, or give some back."""
        self._used[sharer] = self._used_by(sharer) + seconds
        if sharer in self._waiting:
            self._push(sharer)
        if len(self._used) > self._kept_times:
            self._used = {key: used for key, used in self._used.items() if used > self._now}
            self._kept_times = max(MAX_KEPT_TIMES, 2 * len(self._used))

    def _push(self, sharer: Key) -> None:
        used = self._waiting[sharer] = self._used_by(sharer)
        heappush(self._heap, (used, next(_ORDER), sharer))
        if len(self._heap) > MAX_OUTDATED_TIMES + 2 * len(self._waiting):
            self._heap = [(used, next(_ORDER), key) for key, used in self._waiting.items()]
            heapify(self._heap)

    def _used_by(self, sharer: Key) -> float:
        return max(self._used.get(sharer, 0.0), self._now)


class _Flow(Generic[T]):
    """Waiting pages of one flow, by host group."""

    __slots__ = ("groups", "share")

    def __init__(self) -> None:
        self.groups: dict[str, deque[tuple[PageSender, T]]] = {}
        self.share: FairShare[str] = FairShare()


class FairQueue(Generic[T]):
    """Waiting pages of all senders."""

    def __init__(self) -> None:
        self._flows: dict[int, _Flow[T]] = {}
        self._halves: FairShare[int] = FairShare()
        self._shares: tuple[FairShare[int], FairShare[int]] = (FairShare(), FairShare())
        """Of the flows of owners, and of raw senders."""
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
        flow = self._flow(source)
        flow.groups.setdefault(source.group, deque()).append((source, item))
        flow.share.add(source.group)
        self._shares[source.is_raw].add(source.flow)
        self._halves.add(source.is_raw)
        self._count += 1

    def next_source(self) -> PageSender | None:
        """Return the source of the page that comes next; None where none waits."""
        if not self._count:
            return None
        flow = self._flows[self._shares[self._halves.next()].next()]
        return flow.groups[flow.share.next()][0][0]

    def take(self, source: PageSender) -> T:
        """Remove the first page of the group of a source, which is served now, and return it."""
        flow = self._flows[source.flow]
        self.serve(source)
        _, item = flow.groups[source.group].popleft()
        self._count_removed(source, flow)
        return item

    def serve(self, source: PageSender) -> None:
        """Note that a page of a source is served now: `take` does, for a page that has waited."""
        self._halves.serve(source.is_raw)
        self._shares[source.is_raw].serve(source.flow)
        self._flow(source).share.serve(source.group)

    def remove(self, source: PageSender, item: T) -> None:
        """Remove one page, whatever its place."""
        flow = self._flows[source.flow]
        flow.groups[source.group].remove((source, item))
        self._count_removed(source, flow)

    def charge(self, source: PageSender, seconds: float) -> None:
        """Charge the sharers of a source."""
        self._halves.charge(source.is_raw, seconds)
        self._shares[source.is_raw].charge(source.flow, seconds)
        self._flow(source).share.charge(source.group, seconds)

    def _flow(self, source: PageSender) -> _Flow[T]:
        flow = self._flows.get(source.flow)
        if flow is None:
            flow = self._flows[source.flow] = _Flow()
        return flow

    def _count_removed(self, source: PageSender, flow: _Flow[T]) -> None:
        self._count -= 1
        if flow.groups[source.group]:
            return
        del flow.groups[source.group]
        flow.share.discard(source.group)
        if flow.groups:
            return
        self._shares[source.is_raw].discard(source.flow)
        if not self._shares[source.is_raw]:
            self._halves.discard(source.is_raw)
