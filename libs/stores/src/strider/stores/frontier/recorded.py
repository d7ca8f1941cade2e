"""Open entries as their records have them, for putting back millions of them.

What many records share is read once and kept in a *mould*; what is an entry's own stays the bytes that
its record has. So a working set that packs entries need not make an event of each, which would be most
of what a rebuild costs. Nothing is lost: `entry` gives the event. Of runs it is counted how many entries,
open or closed, the log has. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import seen_scope

from .packing import NOTHING_RARE, RARE, Own, Rare, Shape, as_bytes, rare_of, shape_of
from .rules import rank_of

_TOKEN: Final = RARE.index("seed_token")
_FETCHED: Final = RARE.index("fetched_at_ms")


@dataclass(frozen=True, slots=True, eq=False)
class Mould:
    """What entries share: told apart by being another one, since there are few."""

    like: EntryRecorded
    """One of them; what is an entry's own says nothing here."""
    shape: Shape
    job: bytes
    scope: str
    """Whose seen-set."""

    @classmethod
    def of(cls, entry: EntryRecorded) -> Mould:
        """Take what an entry shares."""
        scope = seen_scope(entry.job_id, entry.crawl_spec_id)
        return cls(entry, shape_of(entry), as_bytes(entry.job_id), scope)


class Recorded(NamedTuple):
    """An open entry. A tuple, because a rebuild makes millions."""

    mould: Mould
    url_key: bytes
    url: bytes
    group: bytes
    referrer: bytes
    fetch_sequence: int
    updated_at_ms: int
    discovered_at_ms: int
    due_at_ms: int
    rare: Rare = NOTHING_RARE

    @classmethod
    def of(cls, entry: EntryRecorded, mould: Mould | None = None) -> Recorded:
        """Take an entry apart."""
        return cls(
            mould or Mould.of(entry),
            as_bytes(entry.url_key),
            as_bytes(entry.url),
            as_bytes(entry.group),
            as_bytes(entry.referrer),
            entry.fetch_sequence,
            entry.updated_at_ms,
            entry.discovered_at_ms,
            entry.due_at_ms,
            rare_of(entry),
        )

    def entry(self) -> EntryRecorded:
        """Make the event."""
        return replace_fields(
            self.mould.like,
            url_key=_text(self.url_key),
            url=_text(self.url),
            group=_text(self.group),
            referrer=_text(self.referrer),
            fetch_sequence=self.fetch_sequence,
            updated_at_ms=self.updated_at_ms,
            discovered_at_ms=self.discovered_at_ms,
            due_at_ms=self.due_at_ms,
            **dict(zip(RARE, self.rare, strict=True)),
        )

    @property
    def own(self) -> Own:
        """What a slot has of it alone."""
        return self[1:9]

    @property
    def queue(self) -> int:
        """Which of its group's queues it belongs to."""
        fetched_at_ms: int = self.rare[_FETCHED]
        return rank_of(self.mould.like, due_at_ms=self.due_at_ms, fetched_at_ms=fetched_at_ms)

    @property
    def seed_token(self) -> str:
        """The seed that opened it; empty for a link."""
        token: str = self.rare[_TOKEN]
        return token


class Recounted(NamedTuple):
    """How many entries of a run the log knows."""

    like: EntryRecorded
    """One of them, which says whose run it is."""
    entries: int


def by_run(runs: Iterable[Recounted]) -> Mapping[str, int]:
    """Add up what the log knows of each execution."""
    totals: Counter[str] = Counter()
    for like, entries in runs:
        totals[like.execution_id] += entries
    return totals


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")
