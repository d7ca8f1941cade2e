"""Decisions that a shard is writing to its log, and the keys of entries that it is writing.

Two messages about one entry may be handled at the same time, and its log may be read while it is written.
Performs no I/O: the shard registers here what it writes, and its callers watch that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass, replace_fields
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id
from strider.frontier.models import EntryDisposition, EntryLookupResult
from strider.messaging.ports import RawRecord
from strider.scheduler.core.entries.state import disposition_of

_OPEN_DISPOSITIONS: Final = frozenset({EntryDisposition.QUEUE, EntryDisposition.PIPELINE})


@fast_dataclass(frozen=True, slots=True)
class PendingDecision:
    """A decision about an open entry that is not written to the log yet."""

    entry: EntryRecorded
    record: RawRecord
    lease_id: str = ""

    @property
    def entry_id(self) -> str:
        """Id of the entry."""
        return entry_id(self.entry.job_id, self.entry.url_key)


@fast_dataclass(frozen=True, slots=True)
class DecisionInProgress:
    """A decision that is being written to the log."""

    entry: EntryRecorded
    before: EntryRecorded
    cause: str
    """The cause of the decision: a handler called again with the same cause has to decide the same."""


class DecisionsInProgress:
    """The latest decision about each entry until it is written to the log; the next one starts from it."""

    def __init__(self) -> None:
        self._latest: dict[str, DecisionInProgress] = {}
        self._watchers: list[set[str]] = []

    def begin(self, decided: PendingDecision, *, before: EntryRecorded, cause: str) -> None:
        """Register a decision as the latest about its entry."""
        self._latest[decided.entry_id] = DecisionInProgress(decided.entry, before, cause)

    def end(self, written: Sequence[PendingDecision]) -> None:
        """Drop decisions that are written, and report to those who watch; overtaken ones are kept."""
        for each in written:
            if self.is_latest(each):
                del self._latest[each.entry_id]
                for concluded in self._watchers:
                    concluded.add(each.entry_id)

    def is_latest(self, decided: PendingDecision) -> bool:
        """Whether no later decision about the entry has overtaken this one."""
        last = self._latest.get(decided.entry_id)
        return last is not None and last.entry is decided.entry

    def is_pending(self, name: str) -> bool:
        """Whether a decision about an entry is being written to the log."""
        return name in self._latest

    def has_other(self, entry: EntryRecorded, *, other_than: str) -> bool:
        """Whether a decision with another cause is pending about an entry, in this life of it."""
        last = self._latest.get(entry_id(entry.job_id, entry.url_key))
        return (
            last is not None
            and last.cause != other_than
            and last.entry.fetch_sequence >= entry.fetch_sequence
        )

    def latest_entry(self, known: EntryLookupResult, cause: str) -> EntryRecorded | None:
        """Return an entry after its latest decision; None where it is not open, or about to be closed."""
        if known.entry is None:
            return None
        entry = known.entry
        last = self._latest.get(entry_id(entry.job_id, entry.url_key))
        if last is not None and last.entry.fetch_sequence >= entry.fetch_sequence:
            entry = last.before if last.cause == cause else last.entry
        if disposition_of(entry) not in _OPEN_DISPOSITIONS:
            return None
        return replace_fields(entry, seed_token=known.seed_token or entry.seed_token)

    @contextmanager
    def watch_conclusions(self) -> Iterator[set[str]]:
        """Collect the ids of entries whose decisions are concluded meanwhile."""
        concluded: set[str] = set()
        self._watchers.append(concluded)
        try:
            yield concluded
        finally:
            self._watchers = [each for each in self._watchers if each is not concluded]


class KeysInProgress:
    """Keys of entries that are being written to the log, and of those written while a reader watches."""

    def __init__(self) -> None:
        self._written: set[bytes] | None = None
        self._being_written: list[set[bytes]] = []

    @contextmanager
    def announce(self, entries: Sequence[RawRecord]) -> Iterator[None]:
        """Report keys to `watch` before they are written."""
        keys = {record.key for record in entries if record.key is not None}
        if self._written is not None:
            self._written |= keys
        self._being_written.append(keys)
        try:
            yield
        finally:
            self._being_written = [each for each in self._being_written if each is not keys]

    @contextmanager
    def watch(self) -> Iterator[set[bytes]]:
        """Collect the keys of entries that are written meanwhile.

        A reader of the log may meanwhile read an older record of them. Keys are collected before they are
        written: what the working set knows of an entry is either in the log that was read, or its key is
        here.
        """
        self._written = written = {key for keys in self._being_written for key in keys}
        try:
            yield written
        finally:
            self._written = None

    def unwritten(self, tombstones: Sequence[RawRecord]) -> list[RawRecord]:
        """Return the records whose keys were not written while `watch` lasts; only within it."""
        assert self._written is not None
        return [each for each in tombstones if each.key not in self._written]
