"""Positions, documents and archives of run logs."""

from __future__ import annotations

import gzip
import json

import pytest

from strider.messaging.inprocess.virtual_clock import EventLoopClock
from strider.runtime.observability.job_logs import JobLogLine
from strider.storage.errors import ObjectCorrupt
from strider.storage.objects import ObjectOptions, open_object_store
from strider.storage.run_logs.archive import RunLogArchive, object_name
from strider.storage.run_logs.archive_format import ArchivedLog, decode_archive, encode_archive
from strider.storage.run_logs.models import (
    LogEntry,
    LogFilter,
    entry_of_document,
    is_position,
    position_key,
)


def an_entry(number: int, *, service: str = "fetcher", level: str = "info", run: str = "news-1") -> LogEntry:
    fields = {
        "job_id": "news",
        "execution_id": run,
        "ts": f"t{number}",
        "level": level,
        "event": "Pages parsed",
        "service": service,
        "count": number,
    }
    line = JobLogLine("news", f"t{number}", level, "Pages parsed", json.dumps(fields), run)
    return LogEntry(f"17000000000{number:02}-0", line)


def test_an_entry_is_the_same_behind_its_document() -> None:
    """What is archived and shown has all fields of the line, and its position; a truncated line its text."""
    entry = an_entry(1)
    truncated = LogEntry("5-1", JobLogLine("j", "t", "error", "E", '{"event": "E", "x…', "r"))

    assert entry.document() == {"id": entry.position, **json.loads(entry.line.text)}
    assert entry_of_document(entry.document()) == entry
    assert entry_of_document(truncated.document()) == truncated
    with pytest.raises(ValueError, match="without a position"):
        entry_of_document({"id": "x"})


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("0-0", True), ("1700000000001-12", True), ("", False), ("1", False), ("1-", False), ("1-a\n", False)],
)
def test_other_texts_are_no_positions(text: str, is_one: bool) -> None:
    assert is_position(text) is is_one


def test_positions_are_ordered_as_numbers() -> None:
    assert sorted(["10-0", "9-2", "9-10"], key=position_key) == ["9-2", "9-10", "10-0"]


@pytest.mark.parametrize(
    ("log_filter", "is_accepted"),
    [
        (LogFilter(), True),
        (LogFilter(level="info"), True),
        (LogFilter(level="debug"), True),
        (LogFilter(level="warning"), False),
        (LogFilter(service="fetcher"), True),
        (LogFilter(service="parser"), False),
    ],
)
def test_a_filter_is_the_least_level_and_the_service(log_filter: LogFilter, is_accepted: bool) -> None:
    assert log_filter.accepts(an_entry(1).document()) is is_accepted


def test_a_line_of_an_unknown_level_is_shown() -> None:
    assert LogFilter(level="critical").accepts({"level": "odd"})


def test_equal_logs_are_equal_archives() -> None:
    """Else a repeated archiving would change what is stored."""
    log = ArchivedLog("news", "news-1", "now", [an_entry(1), an_entry(2)])

    assert encode_archive(log) == encode_archive(log)
    assert decode_archive(encode_archive(log)) == log


@pytest.mark.parametrize(
    "content",
    [b"", b"x", gzip.compress(b""), gzip.compress(b"{}\n"), gzip.compress(b"[]\n"), gzip.compress(b"1\n{}")],
    ids=["empty", "no gzip", "no line", "no head", "a list", "a number"],
)
def test_an_archive_that_is_none_is_refused(content: bytes) -> None:
    with pytest.raises(ObjectCorrupt):
        decode_archive(content)


def test_an_archive_has_a_name_that_any_store_takes() -> None:
    assert object_name("../../etc/passwd").startswith("run-logs/")
    assert object_name("a") != object_name("b")
    assert len(object_name("x" * 10_000)) < 100


async def test_archiving_again_adds_what_is_new_and_repeats_nothing() -> None:
    """A process that was killed after it wrote the object archives the same lines again."""
    objects = open_object_store(ObjectOptions("memory:///"), clock=EventLoopClock())
    archive = RunLogArchive(objects)
    first, second, third = (an_entry(number) for number in (1, 2, 3))

    await archive.add("news", "news-1", [first, second], archived_at="a")
    await archive.add("news", "news-1", [first, second], archived_at="b")
    await archive.add("news", "news-1", [third], archived_at="c")
    found = await archive.load("news-1")

    assert found is not None
    assert list(found.entries) == [first, second, third]
    assert await archive.load("news-2") is None
    await objects.close()
