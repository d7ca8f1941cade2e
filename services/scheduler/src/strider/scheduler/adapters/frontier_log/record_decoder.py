"""Decode entry records only as far as the working set needs, for fast rebuilds.

Records share most of their bytes with many others: shared parts are decoded once, by the codec, and looked up
by their bytes. Fields of a single entry are copied as bytes. Anything else (lists, text beyond ASCII, another
version of the schema) is decoded whole by the codec.
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
from strider.frontier.entry_encoding import (
    RARE_DEFAULTS,
    RARE_FIELDS,
    EntryShape,
    RareValues,
    encode_text,
    shape_of,
)
from strider.frontier.rebuild_records import RecordedEntry, SharedFields
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.core.entries.state import FORGOTTEN_REASONS, is_forgotten
from strider.scheduler.ports import ClosedEntry

_CLOSED: Final = frozenset({EntryState.COMPLETED, EntryState.FAILED})
_EMPTY_TEXT: Final = 0
"""Last byte of an event whose last field is an empty string."""

_NO_LISTS: Final = RARE_DEFAULTS[:2]
_NO_END: Final = RARE_DEFAULTS[:-2]
"""The rare fields begin with lists, and end with fields that are decoded first."""
_RAW_HASH: Final = RARE_FIELDS.index("raw_hash")
_TEXT_HASH: Final = RARE_FIELDS.index("text_hash")

_log = logger("scheduler")


@dataclass(slots=True)
class _RunTemplate:
    """Fields shared by the records of one run with the same state and reason."""

    template: EntryRecorded
    is_closed: bool
    may_be_forgotten: bool
    moulds: dict[tuple[bytes, ...], SharedFields] = field(default_factory=dict)


class EntryRecordDecoder:
    """Decodes the records of one shard, and caches what they share."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._runs: dict[tuple[bytes, ...], _RunTemplate] = {}
        self._moulds: dict[EntryShape, SharedFields] = {}
        """Templates of records that were decoded whole."""
        self._decode_begin = FieldPeeker(
            codec, FRONTIER,
            "job_id", "url_key", "url", "group", "state..crawl_spec_id", "fetch_sequence", "updated_at_ms",
            "reason", "body_bytes", "busy_ms",
        ).read  # fmt: skip
        middle = FieldPeeker(
            codec, FRONTIER,
            "kind..is_start", "referrer", "tries..status", "discovered_at_ms", "due_at_ms",
            first_field="kind",
        )  # fmt: skip
        self._decode_middle, self._empty_end = middle.read_at, middle.empty_suffix
        self._decode_end = FieldPeeker(
            codec, FRONTIER,
            "fetched_at_ms", "closed_at_ms", "next_crawl_at_ms", "interval_seconds", "changed_at_ms",
            "unchanged_count", "losses..losses", "raw_hash", "text_hash", "etag", "last_modified",
            "needs_rendering..needs_rendering", "redirect_target", "seed_token",
            first_field="fetched_at_ms",
        ).read_at  # fmt: skip

    def decode(self, key: bytes, value: bytes) -> RecordedEntry | ClosedEntry | None:
        """Decode a record; None, and a log event, where it cannot be decoded."""
        seen = self._decode_begin(value)
        try:
            if seen is not None and (decoded := self._decode_partly(value, seen)) is not None:
                return decoded
            entry = self._codec.decode(FRONTIER, value)
        except DecodeError as failure:
            _log.emit(
                log_events.FRONTIER_RECORD_UNREADABLE, topic=FRONTIER.name, key=repr(key), why=str(failure)
            )
            return None
        return _closed_entry(entry) if entry.state in _CLOSED else self._from_entry(entry)

    def _decode_partly(self, value: bytes, seen: PeekedFields) -> RecordedEntry | ClosedEntry | None:
        job, url_key, url, _, run_bytes, sequence, updated, reason, size, busy, _ = seen
        run = self._runs.get((job, run_bytes, reason)) or self._run_of(value, job, run_bytes, reason)
        if run.is_closed and not run.may_be_forgotten and value[-1] == _EMPTY_TEXT:
            return ClosedEntry(run.template, url_key, url, sequence, updated, size, busy)
        own = self._decode_entry_fields(value, seen, run)
        if own is None or not run.is_closed:
            return own
        like = own.shared.sample
        return ClosedEntry(
            like,
            url_key,
            url,
            sequence,
            updated,
            size,
            busy,
            own.seed_token,
            is_forgotten(like),
            own.discovered_at_ms if own.seed_token else 0,
            own.rare[_RAW_HASH],
            own.rare[_TEXT_HASH],
        )

    def _decode_entry_fields(
        self, value: bytes, seen: PeekedFields, run: _RunTemplate
    ) -> RecordedEntry | None:
        """Decode the fields of a single entry; None where the codec has to decode the record."""
        _, url_key, url, group, _, sequence, updated, _, size, busy, at = seen
        middle = self._decode_middle(value, at)
        if middle is None:
            return None
        kind, referrer, tries, discovered, due, at = middle
        if value[at:] == self._empty_end:
            shared: tuple[bytes, ...] = (kind, tries)
            rare = (*_NO_END, size, busy) if size or busy else RARE_DEFAULTS
        elif (end := self._decode_rare_fields(value, at)) is not None:
            shared, rare = (kind, tries, *end[0]), (*end[1], size, busy)
        else:
            return None
        if not (url.isascii() and group.isascii() and referrer.isascii() and url_key.isalnum()):
            return None
        mould = run.moulds.get(shared)
        if mould is None:
            mould = run.moulds[shared] = SharedFields.of(self._codec.decode(FRONTIER, value))
        return RecordedEntry(mould, url_key, url, group, referrer, sequence, updated, discovered, due, rare)

    def _decode_rare_fields(self, value: bytes, at: int) -> tuple[tuple[bytes, bytes], RareValues] | None:
        """Decode fields that only some entries have: the shared ones, and the rare ones up to there."""
        fields = self._decode_end(value, at)
        if fields is None or fields[-1] != len(value):
            return None
        times, losses, texts, needs_rendering, more = (
            fields[:6],
            fields[6],
            fields[7:11],
            fields[11],
            fields[12:14],
        )
        try:
            texts_read = [each.decode() for each in (*texts, *more)]
        except UnicodeDecodeError:
            return None
        return (losses, needs_rendering), (*_NO_LISTS, *times, *texts_read)

    def _from_entry(self, entry: EntryRecorded) -> RecordedEntry:
        shape = shape_of(entry)
        if (mould := self._moulds.get(shape)) is None:
            mould = self._moulds[shape] = SharedFields.of(entry)
        return RecordedEntry.of(entry, mould)

    def _run_of(self, value: bytes, *names: bytes) -> _RunTemplate:
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
        entry.discovered_at_ms if entry.seed_token else 0,
        entry.raw_hash,
        entry.text_hash,
    )
