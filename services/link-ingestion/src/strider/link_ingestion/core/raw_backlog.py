"""Number of URLs of raw seeds that were published and not yet read by the scheduler.

Each count ends with a mark: where the log of links ended at some moment after its URLs were published. The
URLs count as read when the scheduler's group has committed as far. So only raw seeds count: what pages and
owners publish delays a mark, and never adds to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

Offsets = Mapping[int, int]
"""Offsets by partition."""


class _Mark(NamedTuple):
    urls: int
    ends: Offsets


class RawSeedBacklog:
    """URLs of raw seeds that wait for the scheduler."""

    def __init__(self, max_urls: int) -> None:
        self._max_urls = max_urls
        self._marks: deque[_Mark] = deque()
        self.waiting = 0
        """URLs that were published and are not known to be read."""
        self.unmarked = 0
        """Those of them that were added since the last mark."""

    @property
    def is_full(self) -> bool:
        """Whether no more raw seeds should be read."""
        return self.waiting >= self._max_urls

    @property
    def is_half_full(self) -> bool:
        """Whether offsets should be read often: below half of the limit nothing depends on them."""
        return 2 * self.waiting >= self._max_urls

    def add(self, urls: int) -> None:
        """Count URLs whose messages were acknowledged."""
        self.waiting += urls
        self.unmarked += urls

    def settle(self, unmarked: int, committed: Offsets, ends: Offsets) -> None:
        """Drop what the group has read, by its commits and the log's ends, which were read in this order.

        `unmarked` is the number of URLs that had been added before. A log that is shorter than at a mark is
        that of a new topic, and has none of those URLs.
        """
        if unmarked:
            self._marks.append(_Mark(unmarked, dict(ends)))
            self.unmarked -= unmarked
        while self._marks and _is_read(self._marks[0].ends, committed, ends):
            self.waiting -= self._marks.popleft().urls


def _is_read(marked: Offsets, committed: Offsets, ends: Offsets) -> bool:
    return all(
        committed.get(partition, 0) >= min(end, ends.get(partition, 0)) for partition, end in marked.items()
    )
