"""Output lines: whole, once, and truncated to the recorded length."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import tty
from pathlib import Path

import pytest

from strider.cli.crawl.output import CSV, JSONL, ResultWriteFailed, ResultWriter, read_results
from strider.cli.crawl.results import RESULT_FIELDS, UrlResult

from .limits import file_size_limit

PLAIN = UrlResult(url="http://a.test/", title="One", links=("http://a.test/b", "http://a.test/c"))
ODD = UrlResult(
    url="http://a.test/b", text='two\nlines, "quoted"; \ud800 and é', outcome="failed", reason="why"
)


@pytest.fixture(params=[JSONL, CSV])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def outcomes(path: Path, form: str, length: int | None = None) -> list[tuple[object, object, object]]:
    read = read_results(path, form, path.stat().st_size if length is None else length)
    return [(line["url"], line["outcome"], line["reason"]) for line in read]


def test_what_was_written_can_be_read_again(tmp_path: Path, form: str) -> None:
    """Including line ends, quotes and lone surrogates."""
    path = tmp_path / "out"
    output = ResultWriter.create(path, form)

    output.write(PLAIN)
    output.write(ODD)
    length = output.flush()
    output.close()

    assert length == path.stat().st_size
    assert outcomes(path, form) == [("http://a.test/", "page", ""), ("http://a.test/b", "failed", "why")]


def test_a_line_has_the_documented_fields_in_their_order(tmp_path: Path) -> None:
    """Scripts rely on it."""
    path = tmp_path / "out"
    output = ResultWriter.create(path, JSONL)
    output.write(PLAIN)
    output.flush()
    output.close()

    line = json.loads(path.read_text())

    expected = """
        url final_url status depth referrer fetched_at title description canonical text links content_type
        content_hash raw_hash length duration_ms parser_version outcome reason detail
    """
    assert tuple(line) == RESULT_FIELDS == tuple(expected.split())
    assert line["links"] == ["http://a.test/b", "http://a.test/c"]


def test_a_resumed_crawl_cuts_off_what_was_written_after_the_record(tmp_path: Path, form: str) -> None:
    """Also half a line."""
    path = tmp_path / "out"
    output = ResultWriter.create(path, form)
    output.write(PLAIN)
    length = output.flush()
    output.write(ODD)
    output.flush()
    output.close()
    with path.open("ab") as more:
        more.write(b'{"url": "half')

    again = ResultWriter.resume(path, form, length)
    again.write(ODD)
    again.flush()
    again.close()

    assert [url for url, _, _ in outcomes(path, form)] == ["http://a.test/", "http://a.test/b"]


def test_a_file_that_has_become_shorter_is_refused(tmp_path: Path) -> None:
    """Its lines are missing, and would not be written again."""
    path = tmp_path / "out"
    path.write_bytes(b"short")

    with pytest.raises(ResultWriteFailed, match="shorter than when the state was saved"):
        ResultWriter.resume(path, JSONL, 6)

    assert path.read_bytes() == b"short"


def test_a_csv_file_with_other_columns_is_not_continued(tmp_path: Path) -> None:
    """Its further lines would not fit its header; the file of another version is left as it is."""
    path = tmp_path / "out"
    output = ResultWriter.create(path, CSV)
    output.write(PLAIN)
    length = output.flush()
    output.close()
    before = path.read_bytes()

    with pytest.raises(ResultWriteFailed, match="its columns are those of another version"):
        ResultWriter.resume(path, CSV, length, {"products": []})

    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["[]\n", "{}\n", "no json\n", '{"url": "x"}\n'])
def test_foreign_lines_are_reported(tmp_path: Path, content: str) -> None:
    """In one sentence."""
    path = tmp_path / "out"
    path.write_text(content)

    with pytest.raises(ResultWriteFailed, match="not the output of this crawl"):
        outcomes(path, JSONL)


def test_a_write_that_fails_leaves_no_half_line(tmp_path: Path) -> None:
    """The file ends where it ended before."""
    path = tmp_path / "out"
    output = ResultWriter.create(path, JSONL)
    output.write(PLAIN)
    length = output.flush()
    output.write(ODD)

    with file_size_limit(length + 100), pytest.raises(ResultWriteFailed, match="File too large"):
        output.flush()

    assert path.stat().st_size == length
    output.close()


async def test_a_reader_that_is_slow_does_not_stop_the_loop() -> None:
    """Only callers that wait for the lines are blocked."""
    reading, writing = os.pipe()
    output = ResultWriter.to_stream(writing, JSONL)
    output.write(UrlResult(url="http://a.test/", text="x" * 300_000))
    draining = asyncio.create_task(output.drain())

    await asyncio.sleep(0)
    assert not draining.done()
    content = b""
    while not content.endswith(b"\n"):
        content += await asyncio.to_thread(os.read, reading, 65_536)
    await draining

    assert json.loads(content)["url"] == "http://a.test/"
    output.close()
    os.close(reading)


async def test_a_closed_pipe_is_reported_in_one_sentence() -> None:
    """As after `| head -1`."""
    reading, writing = os.pipe()
    os.close(reading)
    output = ResultWriter.to_stream(writing, JSONL)
    output.write(PLAIN)

    with pytest.raises(ResultWriteFailed, match="standard output: the reader has closed the pipe"):
        await output.drain()

    output.close()


def test_two_cannot_write_one_file(tmp_path: Path) -> None:
    """Their lines would be mixed; the first one continues."""
    path = tmp_path / "out"
    first = ResultWriter.create(path, JSONL)
    first.write(PLAIN)
    first.flush()

    with pytest.raises(ResultWriteFailed, match="another crawl is writing to it"):
        ResultWriter.create(path, JSONL)

    first.close()
    assert outcomes(path, JSONL) == [("http://a.test/", "page", "")]


def test_a_formula_of_a_page_is_text_in_csv_and_restored_when_read(tmp_path: Path) -> None:
    path, title = tmp_path / "out", '=HYPERLINK("http://evil.example/","ok")'
    output = ResultWriter.create(path, CSV)
    output.write(UrlResult(url="http://a.test/", title=title, depth=3))
    length = output.flush()
    output.close()

    assert "\"'=HYPERLINK" in path.read_text()
    assert [line["title"] for line in read_results(path, CSV, length)] == [title]


def test_a_page_does_not_control_the_terminal_that_its_line_is_written_to(form: str) -> None:
    """A file or pipe gets the characters as they are, as JSON or in a quoted cell."""
    screen, terminal = pty.openpty()
    tty.setraw(terminal)
    output = ResultWriter.to_stream(terminal, form)
    output.write(UrlResult(url="http://a.test/", title="\x9b2J\x7f\u202egnp"))
    output.flush()
    shown = os.read(screen, 4096).decode()
    os.close(terminal)
    os.close(screen)

    assert "\\u009b2J\\u007f\\u202egnp" in shown
    assert not set(shown) & {"\x9b", "\x7f", "\u202e"}
