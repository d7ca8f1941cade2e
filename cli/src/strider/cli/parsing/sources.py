"""Where a page comes from: a file, standard input, or a line of a list.

Makes of it the event that a fetcher would have sent. What cannot be read is said in one line, and
never costs another page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from strider.contracts.generated.events import PageFetched
from strider.urls import RefusedUrl, host_of, to_wire_url, url_hash, url_key_of

STANDARD_INPUT: Final = "-"
GZIP: Final = b"\x1f\x8b"
MAX_FILE_BYTES: Final = 64 * 1024 * 1024
"""More than any body that a fetcher would hand on."""

UNKNOWN_URL: Final = "https://page.invalid/"
"""Stands for a file of which nobody said where it comes from: links are then resolved against it."""


class BadSource(Exception):
    """A page that cannot be had; the message is one line for a person."""


@dataclass(frozen=True, slots=True)
class Source:
    """One page that somebody wants read."""

    file: str
    url: str = ""
    content_type: str = ""
    problem: str = ""
    """Why it cannot be read; empty where it may be."""


def page_of(source: Source) -> PageFetched:
    """Read the file and make the event of it; raises BadSource."""
    if source.problem:
        raise BadSource(source.problem)
    body = _content_of(source.file)
    is_packed = body.startswith(GZIP)
    return fetched(
        _url_of(source.url),
        body,
        content_type=source.content_type,
        content_encoding="gzip" if is_packed else "",
    )


def fetched(url: str, body: bytes, **known: Any) -> PageFetched:
    """Make the event that a fetcher would have sent."""
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


def listed(lines: Iterable[str]) -> Iterator[Source]:
    """Read the lines of a list; what is no such line becomes a source that says so."""
    for number, written in enumerate(lines, start=1):
        line = written.lstrip("\ufeff")  # editors put a mark before the first line
        if not line.strip():
            continue
        try:
            told = json.loads(line)
        except ValueError as failure:
            yield Source("", problem=f"line {number} is no JSON: {failure}")
            continue
        yield _source_of(told, number)


def _source_of(told: Any, number: int) -> Source:
    if not isinstance(told, dict) or not isinstance(told.get("file"), str) or not told["file"]:
        return Source("", problem=f'line {number}: wanted is an object with a "file"')
    texts = {name: told.get(name) or "" for name in ("url", "content_type")}
    for name, text in texts.items():
        if not isinstance(text, str):
            return Source(told["file"], problem=f'line {number}: "{name}" is no text')
    return Source(told["file"], texts["url"], texts["content_type"])


def _content_of(file: str) -> bytes:
    try:
        if file == STANDARD_INPUT:
            content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with Path(file).open("rb") as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as failure:
        raise BadSource(f"{file}: {getattr(failure, 'strerror', None) or failure}") from failure
    if len(content) > MAX_FILE_BYTES:
        raise BadSource(f"{file}: larger than {MAX_FILE_BYTES >> 20} MiB")
    return content


def _url_of(text: str) -> str:
    if not text:
        return UNKNOWN_URL
    found = to_wire_url(text)
    if isinstance(found, RefusedUrl):
        raise BadSource(f"{text[:200]!r} is no URL ({found.reason})")
    return found
