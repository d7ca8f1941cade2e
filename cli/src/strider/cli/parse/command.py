"""The command `strider parse`: what is parsed, where it is written, and its exit code."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from strider.cli.arguments import file_error
from strider.cli.crawl.request import BadCrawlRequest, parse_seed
from strider.cli.exit_codes import CommandExit
from strider.cli.output import counted, fail, json_text, log_to_stderr, print_text, warn
from strider.cli.typed_urls import refusal_text
from strider.urls import RefusedUrl, to_wire_url

from .fields import failed_fields, is_parsed, page_text
from .page_reader import open_parsers, read_all, read_one, read_page
from .page_sources import STANDARD_INPUT, BadPageSource, PageSource, read_list
from .single_page_crawl import fetch_page


class ParseUsageError(Exception):
    """Options that cannot be combined or used; the message is one line."""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """The options of `strider parse`."""

    page: str = ""
    url: str = ""
    content_type: str = ""
    as_json: bool = False
    listed: Path | None = None
    output: Path | None = None
    workers: int = 0
    contact: str = ""
    allow_private: bool = False


def run_parse(options: ParseOptions) -> CommandExit:
    """Parse what the options name; returns the exit code."""
    log_to_stderr("error")
    try:
        _check(options)
        return asyncio.run(_parse_many(options) if options.listed is not None else _parse_one(options))
    except (ParseUsageError, BadCrawlRequest) as wrong:
        fail(str(wrong), CommandExit.USAGE)
    except KeyboardInterrupt:
        return CommandExit.INTERRUPTED


def _check(options: ParseOptions) -> None:
    if (options.listed is None) == (not options.page):
        raise ParseUsageError("name one FILE or URL, or many with --list")
    exists = options.listed or options.page == STANDARD_INPUT or Path(options.page).is_file()
    if options.page and Path(options.page).is_dir():
        raise ParseUsageError(f"{options.page}: is a directory; name a file, or many with --list")
    if options.url and isinstance(found := to_wire_url(options.url), RefusedUrl):
        raise ParseUsageError(f"--url: {refusal_text(options.url, found)}")
    if not exists and not _is_url(options.page):
        raise ParseUsageError(f"{options.page}: no such file (a URL begins with http:// or https://)")
    _check_output(options)


def _check_output(options: ParseOptions) -> None:
    """Refuse to overwrite the input: it would be empty before it is read."""
    source = options.listed or Path(options.page)
    output = options.output
    if output is not None and output.exists() and source.exists() and source.samefile(output):
        raise ParseUsageError(f"-o {output} is the input file; name another file")


def _is_url(text: str) -> bool:
    return text.partition("://")[0].lower() in {"http", "https"}


async def _parse_one(options: ParseOptions) -> CommandExit:
    if _is_url(options.page):
        fields = await _parse_site(options)
    else:
        fields = await read_one(PageSource(options.page, options.url, options.content_type))
    with _open_output(options.output) as out:
        text = json_text(fields, ascii_only=False, indent=2) if options.as_json else page_text(fields)
        print_text(text, stream=out)
    return CommandExit.DONE if is_parsed(fields) else CommandExit.FAILED


async def _parse_site(options: ParseOptions) -> dict[str, Any]:
    if options.url or options.content_type:
        raise ParseUsageError("--url and --content-type are for files: a site has both itself")
    url = parse_seed(options.page).wire
    try:
        page = await fetch_page(url, contact=options.contact, allow_private=options.allow_private)
    except BadPageSource as failure:
        return failed_fields(str(failure), url)
    async with open_parsers(1) as parsers:
        return await read_page(parsers, page)


async def _parse_many(options: ParseOptions) -> CommandExit:
    """Parse the pages of a list; each has a line, also where it could not be parsed."""
    if options.url or options.content_type:
        raise ParseUsageError('with --list, give "url" and "content_type" in each line')
    workers = options.workers or os.cpu_count() or 1
    unparsed = 0
    with _open_list(options.listed) as lines, _open_output(options.output) as out:
        async for fields in read_all(read_list(lines), workers=workers):
            unparsed += not is_parsed(fields)
            print_text(json_text(fields, ascii_only=False), stream=out)
    if unparsed:
        warn(f"{counted(unparsed, 'page')} could not be parsed, for the reason in the output line")
    return CommandExit.FAILED if unparsed else CommandExit.DONE


@contextmanager
def _open_list(path: Path | None) -> Iterator[IO[str]]:
    if path is None or str(path) == STANDARD_INPUT:
        yield sys.stdin
        return
    try:
        stream = path.open(encoding="utf-8", errors="replace")
    except OSError as failure:
        raise ParseUsageError(file_error(path, failure, option="--list")) from failure
    with stream:
        yield stream


@contextmanager
def _open_output(path: Path | None) -> Iterator[IO[str]]:
    """Open the output; lone surrogates of a page are escaped."""
    if path is None:
        yield sys.stdout
        return
    try:
        stream = path.open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as failure:
        raise ParseUsageError(file_error(path, failure, option="-o")) from failure
    with stream:
        yield stream
