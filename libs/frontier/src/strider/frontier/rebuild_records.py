"""Open entries in the form of their records, for loading millions of them in a rebuild.

Fields that many records share are decoded once and kept as SharedFields; an entry's own values stay the bytes
of its record. A working set that encodes entries then makes no event of each, which would be most of a
rebuild's cost. `to_event` loses nothing. Also counts the entries of each run in the log, open or closed.
Pure.
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
from .turns import queue_number

_TOKEN: Final = RARE_FIELDS.index("seed_token")
_FETCHED: Final = RARE_FIELDS.index("fetched_at_ms")


@dataclass(frozen=True, slots=True, eq=False)
class SharedFields:
    """Fields that entries share; compared by identity, since there are few instances."""

    sample: EntryRecorded
    """One of the entries; its own values mean nothing here."""
    shape: EntryShape
    job: bytes
    seen_scope: str
    """Owner of their seen set."""

    @classmethod
    def of(cls, entry: EntryRecorded) -> SharedFields:
        """Return the shared fields of an entry."""
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
    def of(cls, entry: EntryRecorded, shared: SharedFields | None = None) -> RecordedEntry:
        """Return an entry in this form."""
        return cls(
            shared or SharedFields.of(entry),
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
        """Return the event."""
        return replace_fields(
            self.shared.sample,
            url_key=_decode(self.url_key),
            url=_decode(self.url),
            group=_decode(self.group),
            referrer=_decode(self.referrer),
            fetch_sequence=self.fetch_sequence,
            updated_at_ms=self.updated_at_ms,
            discovered_at_ms=self.discovered_at_ms,
            due_at_ms=self.due_at_ms,
            **dict(zip(RARE_FIELDS, self.rare, strict=True)),
        )

    @property
    def own_values(self) -> OwnValues:
        """Values that a slot has of this entry alone."""
        return self[1:9]

    @property
    def queue(self) -> int:
        """Number of its queue."""
        sample, fetched_at_ms = self.shared.sample, self.rare[_FETCHED]
        priority = queue_priority_of(sample, due_at_ms=self.due_at_ms, fetched_at_ms=fetched_at_ms)
        return queue_number(sample.execution_id, priority)

    @property
    def seed_token(self) -> str:
        """Token of the seed that opened it; empty for a link."""
        token: str = self.rare[_TOKEN]
        return token


class RecordedRunCount(NamedTuple):
    """Number of entries that the log has of a run."""

    sample: EntryRecorded
    """One of them, which identifies the run."""
    entries: int


def sum_by_run(runs: Iterable[RecordedRunCount]) -> Mapping[str, int]:
    """Return the number of entries of each execution."""
    totals: Counter[str] = Counter()
    for like, entries in runs:
        totals[like.execution_id] += entries
    return totals


def _decode(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")
