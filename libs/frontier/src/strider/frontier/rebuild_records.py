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

from .constants import queue_priority_of
from .entry_encoding import (
    RARE_DEFAULTS,
    RARE_FIELDS,
    EntryShape,
    OwnValues,
    RareValues,
    encode_text,
    rare_values,
    shape_of,
)

_TOKEN: Final = RARE_FIELDS.index("seed_token")
_FETCHED: Final = RARE_FIELDS.index("fetched_at_ms")


@dataclass(frozen=True, slots=True, eq=False)
class SharedFields:
    """What entries share: told apart by being another one, since there are few."""

    sample: EntryRecorded
    """One of them; what is an entry's own says nothing here."""
    shape: EntryShape
    job: bytes
    seen_scope: str
    """Whose seen-set."""

    @classmethod
    def of(cls, entry: EntryRecorded) -> SharedFields:
        """Take what an entry shares."""
        scope = seen_scope(entry.job_id, entry.crawl_spec_id)
        return cls(entry, shape_of(entry), encode_text(entry.job_id), scope)


class RecordedEntry(NamedTuple):
    """An open entry. A tuple, because a rebuild makes millions."""

    shared: SharedFields
    url_key: bytes
    url: bytes
    group: bytes
    referrer: bytes
    fetch_sequence: int
    updated_at_ms: int
    discovered_at_ms: int
    due_at_ms: int
    rare: RareValues = RARE_DEFAULTS

    @classmethod
    def of(cls, entry: EntryRecorded, mould: SharedFields | None = None) -> RecordedEntry:
        """Take an entry apart."""
        return cls(
            mould or SharedFields.of(entry),
            encode_text(entry.url_key),
            encode_text(entry.url),
            encode_text(entry.group),
            encode_text(entry.referrer),
            entry.fetch_sequence,
            entry.updated_at_ms,
            entry.discovered_at_ms,
            entry.due_at_ms,
            rare_values(entry),
        )

    def to_event(self) -> EntryRecorded:
        """Make the event."""
        return replace_fields(
            self.shared.sample,
            url_key=_text(self.url_key),
            url=_text(self.url),
            group=_text(self.group),
            referrer=_text(self.referrer),
            fetch_sequence=self.fetch_sequence,
            updated_at_ms=self.updated_at_ms,
            discovered_at_ms=self.discovered_at_ms,
            due_at_ms=self.due_at_ms,
            **dict(zip(RARE_FIELDS, self.rare, strict=True)),
        )

    @property
    def own_values(self) -> OwnValues:
        """What a slot has of it alone."""
        return self[1:9]

    @property
    def queue_priority(self) -> int:
        """Which of its group's queues it belongs to."""
        fetched_at_ms: int = self.rare[_FETCHED]
        return queue_priority_of(self.shared.sample, due_at_ms=self.due_at_ms, fetched_at_ms=fetched_at_ms)

    @property
    def seed_token(self) -> str:
        """The seed that opened it; empty for a link."""
        token: str = self.rare[_TOKEN]
        return token


class RecordedRunCount(NamedTuple):
    """How many entries of a run the log knows."""

    sample: EntryRecorded
    """One of them, which says whose run it is."""
    entries: int


def sum_by_run(runs: Iterable[RecordedRunCount]) -> Mapping[str, int]:
    """Add up what the log knows of each execution."""
    totals: Counter[str] = Counter()
    for like, entries in runs:
        totals[like.execution_id] += entries
    return totals


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")
