from __future__ import annotations

from pathlib import Path

import pytest

from strider.localstack.logs import LogFileLine, follow, format_line, last_lines, rotate


def test_a_full_file_is_kept_beside_itself_and_cut(tmp_path: Path) -> None:
    log = tmp_path / "one.log"
    for text in ("first\n", "second\n", "third\n", "fourth\n"):
        with log.open("a") as file:
            file.write(text)
        assert rotate(log, full_bytes=1, kept=3)

    found = {path.name: path.read_text() for path in tmp_path.iterdir()}

    assert found == {"one.log": "", "one.log.1": "fourth\n", "one.log.2": "third\n", "one.log.3": "second\n"}


def test_a_rotated_file_is_readable_for_its_owner_only(tmp_path: Path) -> None:
    log = tmp_path / "one.log"
    log.write_text("text\n")

    assert rotate(log, full_bytes=1)
    assert (tmp_path / "one.log.1").stat().st_mode & 0o777 == 0o600


def test_who_writes_on_without_opening_it_again_writes_at_the_beginning(tmp_path: Path) -> None:
    """No process is notified of a rotation, so the file must stay the same file."""
    log = tmp_path / "one.log"
    with log.open("a") as writer:
        writer.write("before\n")
        writer.flush()
        rotate(log, full_bytes=1)
        writer.write("after\n")

    assert log.read_text() == "after\n"


@pytest.mark.parametrize("text", [pytest.param("short\n", id="not-full"), pytest.param(None, id="absent")])
def test_nothing_is_done_before_it_is_full(tmp_path: Path, text: str | None) -> None:
    log = tmp_path / "one.log"
    if text is not None:
        log.write_text(text)

    assert not rotate(log, full_bytes=100)
    assert not (tmp_path / "one.log.1").exists()


def test_the_last_lines_of_each_file_bear_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n2\n3\n")
    (tmp_path / "b.log").write_bytes(b"bad \xff byte\nhalf a line")
    logs = {"a": tmp_path / "a.log", "b": tmp_path / "b.log", "gone": tmp_path / "gone.log"}

    assert list(last_lines(logs, 2)) == [
        LogFileLine("a", "2"),
        LogFileLine("a", "3"),
        LogFileLine("b", "bad \ufffd byte"),
        LogFileLine("b", "half a line"),
    ]
    assert list(last_lines(logs, 0)) == []


def test_following_sees_new_files_whole_lines_and_a_cut(tmp_path: Path) -> None:
    """A service that comes later, a line in two pieces, a rotation: the reader notices none of it."""
    a, b = tmp_path / "a.log", tmp_path / "b.log"
    a.write_text("old\n")
    steps = [
        lambda: a.write_text("old\nnew\nhal"),
        lambda: a.write_text("old\nnew\nhalf\n"),
        lambda: b.write_text("later\n"),
        lambda: a.write_text("x\n"),
    ]

    def find() -> dict[str, Path]:
        return {path.stem: path for path in sorted(tmp_path.glob("*.log"))}

    def is_over() -> bool:
        if steps:
            steps.pop(0)()
            return False
        return True

    assert list(follow(find, is_over=is_over)) == [
        LogFileLine("a", "new"),
        LogFileLine("a", "half"),
        LogFileLine("b", "later"),
        LogFileLine("a", "x"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '{"host": "a.test", "n": 2, "event": "Fetched", "level": "info",'
            ' "ts": "2026-01-02T03:04:05.678Z", "service": "fetcher"}',
            "03:04:05.678 info    Fetched host=a.test n=2",
            id="structured",
        ),
        pytest.param("plain text", "plain text", id="plain"),
        pytest.param('{"torn": ', '{"torn": ', id="torn"),
        pytest.param('{"no": "event"}', '{"no": "event"}', id="another-structure"),
    ],
)
def test_a_structured_line_is_made_readable(text: str, expected: str) -> None:
    assert format_line(text) == expected
