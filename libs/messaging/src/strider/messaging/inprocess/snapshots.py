"""Durable snapshots of a broker in memory, in one SQLite file.

A snapshot is taken within one iteration of the event loop and is therefore consistent: every record, every
committed offset and every fencing epoch as they stood together, and beside them the caller's own state (how
long its output is). Of a compacted topic the last record of each key is kept, of the others only what some
group has still to read. Restoring a snapshot is like restarting every process after a kill at that instant.
Knows nothing of what the records mean.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from strider.contracts.avro.deferred_encoding import encoded_bytes
from strider.messaging.ports import Header, TopicPartition

from .broker import InProcessBroker
from .log import PartitionLog, StoredRecord

SNAPSHOT_FORMAT: Final = 1
"""Version of the file's layout; another one is refused."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS tables (
    topic TEXT, partition INTEGER, key BLOB, "offset" INTEGER, timestamp INTEGER, value BLOB, headers TEXT,
    PRIMARY KEY (topic, partition, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (
    topic TEXT, partition INTEGER, "offset" INTEGER, timestamp INTEGER, key BLOB, value BLOB, headers TEXT,
    PRIMARY KEY (topic, partition, "offset")) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ends (
    topic TEXT, partition INTEGER, start INTEGER, "end" INTEGER,
    PRIMARY KEY (topic, partition)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS offsets (
    "group" TEXT, topic TEXT, partition INTEGER, "offset" INTEGER,
    PRIMARY KEY ("group", topic, partition)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS epochs (transactional_id TEXT PRIMARY KEY, epoch INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""

_UPSERT_TABLE: Final = "INSERT OR REPLACE INTO tables VALUES (?, ?, ?, ?, ?, ?, ?)"
_DELETE_TABLE: Final = "DELETE FROM tables WHERE topic = ? AND partition = ? AND key = ?"
_INSERT_RECORD: Final = "INSERT OR IGNORE INTO records VALUES (?, ?, ?, ?, ?, ?, ?)"
_DELETE_RECORDS: Final = 'DELETE FROM records WHERE topic = ? AND partition = ? AND "offset" < ?'


class SnapshotError(Exception):
    """The file cannot be used, or does not fit the broker."""


class ForeignFile(SnapshotError):
    """The file is no snapshot, or one of another version."""


@dataclass(frozen=True, slots=True)
class BrokerSnapshot:
    """The state at one instant; immutable, so that another thread may write it."""

    tables: Sequence[StoredRecord]
    """Records of compacted topics since the last snapshot, oldest first."""
    records: Sequence[StoredRecord]
    """Records of other topics since then that some group has still to read."""
    ends: Mapping[TopicPartition, tuple[int, int]]
    """Offset from which records are needed, and end of the log."""
    offsets: Mapping[tuple[str, TopicPartition], int]
    epochs: Mapping[str, int]
    caller_state: Mapping[str, str]
    """The caller's state, replaced with each snapshot."""
    notes: Mapping[str, str]
    """Notes that the caller adds with this snapshot to the notes of earlier ones."""


class SnapshotTaker:
    """Takes snapshots of one broker, each with what was added since the one before."""

    def __init__(self, broker: InProcessBroker, *, compacted: Collection[str]) -> None:
        self._broker = broker
        self._compacted = frozenset(compacted)
        self._taken_up_to: dict[TopicPartition, int] = {}

    def take(
        self, caller_state: Mapping[str, str], *, notes: Mapping[str, str] = MappingProxyType({})
    ) -> BrokerSnapshot:
        """Take a snapshot at once. Once it is written, `InProcessBroker.trim_read` up to its ends frees the
        memory.
        """
        tables: list[StoredRecord] = []
        records: list[StoredRecord] = []
        ends: dict[TopicPartition, tuple[int, int]] = {}
        for log in self._logs():
            place = TopicPartition(log.topic, log.partition)
            end = log.stable_end()
            is_table = log.topic in self._compacted
            # Of a table everything is kept, also what memory has dropped since.
            wanted = 0 if is_table else self._broker.min_committed_offset(log)
            found = log.committed_between(max(self._taken_up_to.get(place, 0), wanted), end)
            (tables if is_table else records).extend(found)
            ends[place] = (wanted, end)
            self._taken_up_to[place] = end
        offsets = {
            (name, place): offset
            for name, group in self._broker.groups.items()
            for place, offset in group.committed.items()
        }
        epochs = self._broker.transactions.epochs()
        return BrokerSnapshot(tables, records, ends, offsets, epochs, dict(caller_state), dict(notes))

    def start_after(self, broker_ends: Mapping[TopicPartition, int]) -> None:
        """Begin where a restored file has ended."""
        self._taken_up_to.update(broker_ends)

    def _logs(self) -> Iterator[PartitionLog]:
        for topic in self._broker.topics.values():
            yield from topic.partitions


class SnapshotFile:
    """The snapshot file. One process at a time: it holds the lock until it is closed."""

    def __init__(self, path: Path) -> None:
        """Open or create the file; raises SnapshotError where it is foreign or in use."""
        self._path = path
        try:
            # The log holds crawl specs, with cookies and tokens; SQLite gives its other files the same mode.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as failure:
            raise SnapshotError(f"{path}: {failure.strerror}") from failure
        try:
            self._database = sqlite3.connect(path, timeout=1.0, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as failure:
            raise SnapshotError(f"{path}: {_describe(failure)}") from failure
        try:
            with self._mapped_errors():
                self._prepare()
        except SnapshotError:
            self._database.close()
            raise

    @contextmanager
    def _mapped_errors(self) -> Iterator[None]:
        """Raise SnapshotError with one line for any error of the file."""
        try:
            yield
        except (sqlite3.Error, OverflowError, ValueError) as failure:
            if getattr(failure, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB:
                raise ForeignFile(f"{self._path} is no snapshot") from failure
            raise SnapshotError(f"{self._path}: {_describe(failure)}") from failure

    def _prepare(self) -> None:
        base = self._database
        base.execute("PRAGMA locking_mode = EXCLUSIVE")
        version = base.execute("PRAGMA user_version").fetchone()[0]
        others = base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if version not in {0, SNAPSHOT_FORMAT} or (version == 0 and others):
            raise ForeignFile(f"{self._path} is no snapshot, or of another version")
        # Only now: it is the first statement that changes the file.
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = FULL")
        base.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {SNAPSHOT_FORMAT}; COMMIT;")

    def is_empty(self) -> bool:
        """Whether no snapshot was ever written."""
        with self._mapped_errors():
            return not self._database.execute("SELECT 1 FROM ends LIMIT 1").fetchall()

    def caller_state(self) -> dict[str, str]:
        """Return the caller's state of the last snapshot."""
        with self._mapped_errors():
            return dict(self._database.execute("SELECT name, value FROM kept"))

    def notes(self) -> dict[str, str]:
        """Return all notes, over all snapshots."""
        with self._mapped_errors():
            return dict(self._database.execute("SELECT name, value FROM notes"))

    def write(self, cut: BrokerSnapshot) -> None:
        """Write a snapshot in one transaction, or raise SnapshotError and write nothing."""
        with self._mapped_errors():
            self._write(cut)

    def _write(self, cut: BrokerSnapshot) -> None:
        base = self._database
        base.execute("BEGIN IMMEDIATE")
        try:
            self._write_tables(cut.tables)
            base.executemany(_INSERT_RECORD, map(_row, cut.records))
            base.executemany(
                _DELETE_RECORDS, ((place.topic, place.partition, at) for place, (at, _) in cut.ends.items())
            )
            self._replace("ends", ((*place, *bounds) for place, bounds in cut.ends.items()))
            self._replace("offsets", ((name, *place, at) for (name, place), at in cut.offsets.items()))
            self._replace("epochs", cut.epochs.items())
            self._replace("kept", cut.caller_state.items())
            self._replace("notes", cut.notes.items())
            base.execute("COMMIT")
        except BaseException:
            if base.in_transaction:
                base.execute("ROLLBACK")
            raise

    def _write_tables(self, records: Sequence[StoredRecord]) -> None:
        last = {(record.topic, record.partition, record.key): record for record in records}
        gone = [place for place, record in last.items() if record.value is None]
        self._database.executemany(_DELETE_TABLE, gone)
        kept = (record for record in last.values() if record.value is not None)
        self._database.executemany(_UPSERT_TABLE, map(_table_row, kept))

    def _replace(self, table: str, rows: Iterable[Sequence[object]]) -> None:
        filled = list(rows)
        if filled:
            marks = ", ".join("?" * len(filled[0]))
            self._database.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", filled)  # noqa: S608  # our own names

    def restore(self, broker: InProcessBroker) -> dict[TopicPartition, int]:
        """Fill a fresh broker, whose topics are declared; return the ends. Raises SnapshotError where they
        differ.
        """
        with self._mapped_errors():
            return self._restore(broker)

    def _restore(self, broker: InProcessBroker) -> dict[TopicPartition, int]:
        ends: dict[TopicPartition, int] = {}
        for topic, partition, start, end in self._database.execute("SELECT * FROM ends").fetchall():
            place = TopicPartition(topic, partition)
            if broker.partition_count(topic) is None or partition >= (broker.partition_count(topic) or 0):
                raise SnapshotError(f"{self._path}: {topic}[{partition}] does not exist here")
            broker.log(place).restore(self._stored(place), start=start, end=end)
            ends[place] = end
        for group, topic, partition, offset in self._database.execute("SELECT * FROM offsets"):
            broker.group(group).committed[TopicPartition(topic, partition)] = offset
        broker.transactions.restore(dict(self._database.execute("SELECT * FROM epochs")))
        return ends

    def _stored(self, place: TopicPartition) -> list[StoredRecord]:
        columns = '"offset", timestamp, key, value, headers'
        found: list[StoredRecord] = []
        for table in ("tables", "records"):
            rows = self._database.execute(
                f"SELECT {columns} FROM {table} WHERE topic = ? AND partition = ?",  # noqa: S608  # our own names
                place,
            )
            found += [
                StoredRecord(*place, at, ms, key, value, _headers(text)) for at, ms, key, value, text in rows
            ]
        return sorted(found, key=lambda record: record.offset)

    def close(self) -> None:
        """Close the file and release its lock."""
        self._database.close()


def _row(record: StoredRecord) -> tuple[object, ...]:
    topic, partition, offset, timestamp, key, value, headers = record
    return topic, partition, offset, timestamp, key, encoded_bytes(value), _text(headers)


def _table_row(record: StoredRecord) -> tuple[object, ...]:
    topic, partition, offset, timestamp, key, value, headers = record
    return topic, partition, key, offset, timestamp, encoded_bytes(value), _text(headers)


def _text(headers: Sequence[Header]) -> str:
    if not headers:
        return ""
    return json.dumps([[name, None if value is None else value.decode("latin-1")] for name, value in headers])


def _headers(text: str) -> tuple[Header, ...]:
    pairs = json.loads(text) if text else ()
    return tuple((name, None if value is None else value.encode("latin-1")) for name, value in pairs)


def _describe(failure: Exception) -> str:
    return "in use by another process" if "locked" in str(failure) else str(failure)
