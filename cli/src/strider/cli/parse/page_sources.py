"""Sources of a page: a file, standard input, or a line of a list.

Turns each into the event that a fetcher would have published. What cannot be read is reported in one line,
and never affects another page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from strider.cli.arguments import file_error
from strider.cli.typed_urls import refusal_text
from strider.contracts.generated.events import PageFetched
from strider.urls import RefusedUrl, host_of, to_wire_url, url_hash, url_key_of

STANDARD_INPUT: Final = "-"
GZIP: Final = b"\x1f\x8b"
MAX_FILE_BYTES: Final = 64 * 1024 * 1024
"""More than any body that a fetcher publishes."""

UNKNOWN_URL: Final = "https://page.invalid/"
"""URL of a file without one; links are resolved against it."""


class BadPageSource(Exception):
    """A page that cannot be read; the message is one line."""


@dataclass(frozen=True, slots=True)
class PageSource:
    """One page to parse."""

    file: str
    url: str = ""
    content_type: str = ""
    problem: str = ""
    """Why it cannot be read; empty where it can."""


def load_page(source: PageSource) -> PageFetched:
    """Read the file, and return its event; raises BadPageSource."""
    if source.problem:
        raise BadPageSource(source.problem)
    body = _read_content(source.file)
    is_packed = body.startswith(GZIP)
    return fetched_event(
        _page_url(source.url),
        body,
        content_type=source.content_type,
        content_encoding="gzip" if is_packed else "",
    )


def fetched_event(url: str, body: bytes, **known: Any) -> PageFetched:
    """Return the event that a fetcher would have published."""
    key = url_key_of(url) or url
    return PageFetched(
        url=url,
        url_key=url_hash(key),
        origin="",
        group=host_of(url),
        job_id="parse",
        execution_id="parse",
        crawl_spec_id="",
        fetch_sequence=1,
        lease_id="",
        try_number=1,
        fetched_at_ms=0,
        status=200,
        body=body,
        body_bytes=len(body),
        **known,
    )


def read_list(lines: Iterable[str]) -> Iterator[PageSource]:
    """Parse the lines of a list; an invalid line becomes a source with the problem."""
    for number, written in enumerate(lines, start=1):
        line = written.lstrip("\ufeff")  # byte order mark of some editors
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError as failure:
            yield PageSource("", problem=f"line {number} is not JSON: {failure}")
            continue
        yield _parse_list_line(entry, number)


def _parse_list_line(entry: Any, number: int) -> PageSource:
    if not isinstance(entry, dict) or not isinstance(entry.get("file"), str) or not entry["file"]:
        return PageSource("", problem=f'line {number}: expected an object with a "file"')
    texts = {name: entry.get(name) or "" for name in ("url", "content_type")}
    for name, text in texts.items():
        if not isinstance(text, str):
            return PageSource(entry["file"], problem=f'line {number}: "{name}" is not a string')
    return PageSource(entry["file"], texts["url"], texts["content_type"])


def _read_content(file: str) -> bytes:
    try:
        if file == STANDARD_INPUT:
            content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with Path(file).open("rb") as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as failure:
        raise BadPageSource(file_error(file, failure)) from failure
    if len(content) > MAX_FILE_BYTES:
        raise BadPageSource(f"{file}: larger than {MAX_FILE_BYTES >> 20} MiB")
    return content


def _page_url(text: str) -> str:
    if not text:
        return UNKNOWN_URL
    found = to_wire_url(text)
    if isinstance(found, RefusedUrl):
        raise BadPageSource(refusal_text(text, found))
    return found
