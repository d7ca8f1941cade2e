"""Start pages of a run with their hashes, by which a later run is compared.

    up to 64 of them     each by its URL key, in ascending order
    more                 one key and one hash of each kind, derived from all

What is derived is a sum of hashes, so that it depends neither on the order of the pages nor on how many
shards they are in, and costs no memory. The same start pages with the same content have the same sums; the
sum of the keys shows whether the start pages are the same ones. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

MAX_LISTED: Final = 64
"""Start pages that are listed one by one: their hashes take 13 KB of an event."""

_MODULUS: Final = 1 << 256


class StartPage(NamedTuple):
    """A start page that was fetched and settled."""

    url_key: str
    raw_hash: str = ""
    text_hash: str = ""


@dataclass(frozen=True, slots=True)
class StartPages:
    """The start pages of a run, in one shard or in all."""

    count: int = 0
    listed: tuple[StartPage, ...] = ()
    """By URL key; of more than `MAX_LISTED` one, derived from all."""

    @property
    def is_combined(self) -> bool:
        """Whether they are too many to be listed."""
        return self.count > len(self.listed)


NO_START_PAGES: Final = StartPages()


class StartPageTally:
    """Adds up start pages, one by one or by the tallies of shards. No page may be added twice."""

    def __init__(self) -> None:
        self._count = 0
        self._listed: list[StartPage] = []
        self._sums: list[int] | None = None
        """Sums of keys, of raw hashes and of text hashes; None while all pages are listed."""

    def add(self, page: StartPage) -> None:
        """Add one page."""
        self._count += 1
        if self._sums is None:
            self._listed.append(page)
            if self._count > MAX_LISTED:
                self._combine()
        else:
            self._add_hashes(_hashes_of(page))

    def add_all(self, pages: StartPages) -> None:
        """Add the pages of a shard."""
        if not pages.is_combined:
            for page in pages.listed:
                self.add(page)
            return
        if self._sums is None:
            self._combine()
        self._count += pages.count
        for combined in pages.listed:
            self._add_hashes([int(each, 16) for each in combined])

    def total(self) -> StartPages:
        """Return what was added."""
        if self._sums is None:
            return StartPages(self._count, tuple(sorted(self._listed)))
        return StartPages(self._count, (StartPage(*(f"{each:064x}" for each in self._sums)),))

    def _combine(self) -> None:
        self._sums = [0, 0, 0]
        for page in self._listed:
            self._add_hashes(_hashes_of(page))
        self._listed.clear()

    def _add_hashes(self, hashes: Sequence[int]) -> None:
        assert self._sums is not None
        self._sums = [(before + more) % _MODULUS for before, more in zip(self._sums, hashes, strict=True)]


def sum_start_pages(parts: Iterable[StartPages]) -> StartPages:
    """Return the start pages of all shards as one."""
    tally = StartPageTally()
    for part in parts:
        tally.add_all(part)
    return tally.total()


def _hashes_of(page: StartPage) -> tuple[int, int, int]:
    """Return the summands of a page; those of its content depend on its key, so no two pages cancel out."""
    key = page.url_key
    return _number(key), _number(f"{key}\nraw\n{page.raw_hash}"), _number(f"{key}\ntext\n{page.text_hash}")


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest(), "big")
