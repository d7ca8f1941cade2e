"""strider parse as a command: what is read, where it is written, and with which code it ends."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from strider.cli.embedded.wish import BadWish, read_seed
from strider.runtime.observability.logging import configure_logs
from strider.urls import RefusedUrl, to_wire_url

from .fetching import fetch
from .reading import open_reader, read_all, read_one, read_page
from .showing import as_text, failed, is_read
from .sources import STANDARD_INPUT, BadSource, Source, listed

EXIT_READ: Final = 0
EXIT_UNREAD: Final = 1
EXIT_USAGE: Final = 2


class BadUsage(Exception):
    """What cannot be done as asked; the message is one line."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line."""

    page: str = ""
    url: str = ""
    content_type: str = ""
    as_json: bool = False
    listed: Path | None = None
    output: Path | None = None
    workers: int = 0
    contact: str = ""
    allow_private: bool = False


def carry_out(asked: Asked) -> int:
    """Read what is asked for; gives the exit code."""
    configure_logs("parse", stream=sys.stderr, level="error", console=True)
    try:
        _check(asked)
        return asyncio.run(_many(asked) if asked.listed is not None else _one(asked))
    except (BadUsage, BadWish) as wrong:
        print(f"strider parse: {wrong}", file=sys.stderr)
        return EXIT_USAGE
    except BrokenPipeError:
        # Whoever read has seen enough; Python would complain once more while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_READ
    except KeyboardInterrupt:
        return 130


def _check(asked: Asked) -> None:
    if (asked.listed is None) == (not asked.page):
        raise BadUsage("name one FILE or URL, or many by --list")
    is_there = asked.listed or asked.page == STANDARD_INPUT or Path(asked.page).is_file()
    if asked.page and Path(asked.page).is_dir():
        raise BadUsage(f"{asked.page}: it is a directory; name a file, or many by --list")
    if asked.url and isinstance(to_wire_url(asked.url), RefusedUrl):
        raise BadUsage(f"--url {asked.url[:200]!r} is no URL of a page")
    if not is_there and not _is_url(asked.page):
        raise BadUsage(f"{asked.page}: no such file (a URL begins with http:// or https://)")
    _check_output(asked)


def _check_output(asked: Asked) -> None:
    """Refuse to write over what is to be read: it would be empty before anybody reads it."""
    read = asked.listed or Path(asked.page)
    if asked.output is not None and asked.output.exists() and read.exists() and read.samefile(asked.output):
        raise BadUsage(f"-o {asked.output}: it is what is to be read")


def _is_url(text: str) -> bool:
    return text.partition("://")[0].lower() in {"http", "https"}


async def _one(asked: Asked) -> int:
    if _is_url(asked.page):
        told = await _of_site(asked)
    else:
        told = await read_one(Source(asked.page, asked.url, asked.content_type))
    with _opened(asked.output) as out:
        print(json.dumps(told, ensure_ascii=False, indent=2) if asked.as_json else as_text(told), file=out)
    return EXIT_READ if is_read(told) else EXIT_UNREAD


async def _of_site(asked: Asked) -> dict[str, Any]:
    if asked.url or asked.content_type:
        raise BadUsage("--url and --content-type are for files: a site says both itself")
    url = read_seed(asked.page)
    try:
        page = await fetch(url, contact=asked.contact, allow_private=asked.allow_private)
    except BadSource as failure:
        return failed(str(failure), url)
    async with open_reader(1) as parsers:
        return await read_page(parsers, page)


async def _many(asked: Asked) -> int:
    """Read a list: a line for each, whatever comes of it."""
    if asked.url or asked.content_type:
        raise BadUsage('with --list, "url" and "content_type" stand in each line')
    workers = asked.workers or os.cpu_count() or 1
    unread = 0
    with _lines(asked.listed) as lines, _opened(asked.output) as out:
        async for told in read_all(listed(lines), workers=workers):
            unread += not is_read(told)
            out.write(json.dumps(told, ensure_ascii=False) + "\n")
    if unread:
        print(f"strider parse: {unread} could not be read; their lines say why", file=sys.stderr)
    return EXIT_UNREAD if unread else EXIT_READ


@contextmanager
def _lines(path: Path | None) -> Iterator[IO[str]]:
    if path is None or str(path) == STANDARD_INPUT:
        yield sys.stdin
        return
    try:
        stream = path.open(encoding="utf-8", errors="replace")
    except OSError as failure:
        raise BadUsage(f"--list {path}: {failure.strerror}") from failure
    with stream:
        yield stream


@contextmanager
def _opened(path: Path | None) -> Iterator[IO[str]]:
    """Open what is written to; lone surrogates of a page are no reason to fail."""
    if path is None:
        yield sys.stdout
        return
    try:
        stream = path.open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as failure:
        raise BadUsage(f"-o {path}: {failure.strerror}") from failure
    with stream:
        yield stream
