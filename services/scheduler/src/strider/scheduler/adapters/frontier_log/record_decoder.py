"""Records of entries, read no further than a working set needs.

Most of what a record says it shares with many others, byte for byte: that is read once, by the codec,
and known again by its bytes. What is an entry's own is taken as it stands. What has more to it (lists,
texts beyond ASCII, another version of the schema) is read whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from strider.contracts import DecodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.peek import FieldPeeker, PeekedFields
from strider.contracts.generated.enums import EntryState
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import FRONTIER
from strider.frontier.entry_encoding import RARE_DEFAULTS, EntryShape, RareValues, encode_text, shape_of
from strider.frontier.rebuild_records import RecordedEntry, SharedFields
from strider.runtime.observability.logging import logger
from strider.scheduler.core.entries.state import FORGOTTEN_REASONS, is_forgotten
from strider.scheduler.ports import ClosedEntry

_CLOSED: Final = frozenset({EntryState.COMPLETED, EntryState.FAILED})
_EMPTY_TEXT: Final = 0
"""How an event ends whose last field is a text without characters."""

_NO_LISTS: Final = RARE_DEFAULTS[:2]
_NO_END: Final = RARE_DEFAULTS[:-2]
"""The rare fields begin with lists, and end with what a record tells early."""

_log = logger("scheduler")


@dataclass(slots=True)
class _RunTemplate:
    """What records of one run share that are as far for the same reason."""

    like: EntryRecorded
    is_closed: bool
    may_be_forgotten: bool
    moulds: dict[tuple[bytes, ...], SharedFields] = field(default_factory=dict)


class EntryRecordDecoder:
    """Reads the records of one shard, and remembers what they share."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._runs: dict[tuple[bytes, ...], _RunTemplate] = {}
        self._moulds: dict[EntryShape, SharedFields] = {}
        """Of records that were read whole."""
        self._begin = FieldPeeker(
            codec, FRONTIER,
            "job_id", "url_key", "url", "group", "state..crawl_spec_id", "fetch_sequence", "updated_at_ms",
            "reason", "body_bytes", "busy_ms",
        ).read  # fmt: skip
        middle = FieldPeeker(
            codec, FRONTIER,
            "kind..is_start", "referrer", "tries..status", "discovered_at_ms", "due_at_ms",
            first_field="kind",
        )  # fmt: skip
        self._middle, self._empty_end = middle.read_at, middle.empty_suffix
        self._rest = FieldPeeker(
            codec, FRONTIER,
            "fetched_at_ms", "closed_at_ms", "next_crawl_at_ms", "interval_seconds", "changed_at_ms",
            "unchanged_count", "losses..losses", "raw_hash", "text_hash", "etag", "last_modified",
            "needs_rendering..needs_rendering", "redirect_target", "seed_token",
            first_field="fetched_at_ms",
        ).read_at  # fmt: skip

    def decode(self, key: bytes, value: bytes) -> RecordedEntry | ClosedEntry | None:
        """Read a record; None, and a word about it, where it cannot be read."""
        seen = self._begin(value)
        try:
            if seen is not None and (found := self._decode_partly(value, seen)) is not None:
                return found
            entry = self._codec.decode(FRONTIER, value)
        except DecodeError as failure:
            _log.error("Record Unreadable", topic=FRONTIER.name, key=repr(key), why=str(failure))
            return None
        return _closed_entry(entry) if entry.state in _CLOSED else self._whole(entry)

    def _decode_partly(self, value: bytes, seen: PeekedFields) -> RecordedEntry | ClosedEntry | None:
        job, url_key, url, _, run_bytes, sequence, updated, reason, size, busy, _ = seen
        run = self._runs.get((job, run_bytes, reason)) or self._run(value, job, run_bytes, reason)
        if run.is_closed and not run.may_be_forgotten and value[-1] == _EMPTY_TEXT:
            return ClosedEntry(run.like, url_key, url, sequence, updated, size, busy)
        own = self._own(value, seen, run)
        if own is None or not run.is_closed:
            return own
        like = own.shared.sample
        return ClosedEntry(
            like, url_key, url, sequence, updated, size, busy, own.seed_token, is_forgotten(like)
        )

    def _own(self, value: bytes, seen: PeekedFields, run: _RunTemplate) -> RecordedEntry | None:
        """Take what is an entry's own; None where the codec has to read it."""
        _, url_key, url, group, _, sequence, updated, _, size, busy, at = seen
        middle = self._middle(value, at)
        if middle is None:
            return None
        kind, referrer, tries, found, due, at = middle
        if value[at:] == self._empty_end:
            shared: tuple[bytes, ...] = (kind, tries)
            rare = (*_NO_END, size, busy) if size or busy else RARE_DEFAULTS
        elif (end := self._end(value, at)) is not None:
            shared, rare = (kind, tries, *end[0]), (*end[1], size, busy)
        else:
            return None
        if not (url.isascii() and group.isascii() and referrer.isascii() and url_key.isalnum()):
            return None
        mould = run.moulds.get(shared)
        if mould is None:
            mould = run.moulds[shared] = SharedFields.of(self._codec.decode(FRONTIER, value))
        return RecordedEntry(mould, url_key, url, group, referrer, sequence, updated, found, due, rare)

    def _end(self, value: bytes, at: int) -> tuple[tuple[bytes, bytes], RareValues] | None:
        """Read what only some entries have: what of it is shared, and the rare fields up to there."""
        rest = self._rest(value, at)
        if rest is None or rest[-1] != len(value):
            return None
        times, losses, texts, needs_rendering, more = rest[:6], rest[6], rest[7:11], rest[11], rest[12:14]
        try:
            told = [each.decode() for each in (*texts, *more)]
        except UnicodeDecodeError:
            return None
        return (losses, needs_rendering), (*_NO_LISTS, *times, *told)

    def _whole(self, entry: EntryRecorded) -> RecordedEntry:
        shape = shape_of(entry)
        if (mould := self._moulds.get(shape)) is None:
            mould = self._moulds[shape] = SharedFields.of(entry)
        return RecordedEntry.of(entry, mould)

    def _run(self, value: bytes, *names: bytes) -> _RunTemplate:
        entry = self._codec.decode(FRONTIER, value)
        run = _RunTemplate(entry, entry.state in _CLOSED, entry.reason in FORGOTTEN_REASONS)
        self._runs[names] = run
        return run


def _closed_entry(entry: EntryRecorded) -> ClosedEntry:
    return ClosedEntry(
        entry,
        encode_text(entry.url_key),
        encode_text(entry.url),
        entry.fetch_sequence,
        entry.updated_at_ms,
        entry.body_bytes,
        entry.busy_ms,
        entry.seed_token,
        is_forgotten(entry),
    )
