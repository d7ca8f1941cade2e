"""strider crawl: crawl now, in this process, without a server; one line of output for each URL.

Reads the command line and says what it comes to; `embedded` does it. Exit codes: 0 the crawl is
complete, 1 nothing could be fetched or the output failed, 2 wrong usage, 130 interrupted (Ctrl-C)
with the state saved where --resume names a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.runtime.settings import CrawlSettings, ServiceSettings
from strider.runtime.settings_sources import SettingsError, load

from .embedded.members import Manners
from .embedded.running import Order, run_crawl
from .embedded.wish import BadWish, make_wish

EXIT_USAGE: Final = 2
MAX_DEPTH: Final = 10
MAX_HEADER_BYTES: Final = 8 * 1024

app = typer.Typer(add_completion=False)


class ScopeWord(StrEnum):
    """How far links may lead."""

    HOST = "host"
    DOMAIN = "domain"
    ANY = "any"


class Form(StrEnum):
    """How lines are written."""

    JSONL = "jsonl"
    CSV = "csv"


@app.command()
def crawl(  # noqa: PLR0917  # each is an option
    urls: Annotated[
        list[str] | None, typer.Argument(help="Where to begin; - reads URLs from standard input.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; without it, standard output.")
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="How lines are written.")] = Form.JSONL,
    from_file: Annotated[
        Path | None, typer.Option("--from", help="File of URLs, one a line; # begins a remark.")
    ] = None,
    max_pages: Annotated[int, typer.Option(min=0, help="Pages to fetch at most; 0: no limit.")] = 0,
    max_depth: Annotated[
        int, typer.Option(min=0, max=MAX_DEPTH, help="Links to follow from where it begins.")
    ] = 3,
    max_seconds: Annotated[int, typer.Option(min=0, help="End in order after so long; 0: no limit.")] = 0,
    scope: Annotated[ScopeWord, typer.Option(help="How far links may lead.")] = ScopeWord.HOST,
    include: Annotated[
        list[str] | None, typer.Option(help="Follow only URLs that match this pattern; may be repeated.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Do not follow URLs that match this pattern; may be repeated.")
    ] = None,
    delay: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=3600.0, help="Seconds between two requests to a host; else STRIDER_HOST_DELAY."
        ),
    ] = None,
    per_host: Annotated[int, typer.Option(min=1, max=64, help="Requests to one host at a time.")] = 1,
    concurrency: Annotated[int, typer.Option(min=1, max=2048, help="Requests at a time, in all.")] = 64,
    timeout: Annotated[float, typer.Option(min=1.0, max=120.0, help="Seconds for one request.")] = 30.0,
    host_patience: Annotated[
        int, typer.Option(min=0, help="Seconds after which a host that stays out of reach is given up.")
    ] = 120,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", help="'Name: value' to send; may be repeated.")
    ] = None,
    user_agent: Annotated[str, typer.Option(help="User-Agent to send instead of ours.")] = "",
    contact: Annotated[str, typer.Option(help="URL or mail address of whom sites may write to.")] = "",
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Crawl loopback and private addresses too.")
    ] = False,
    ignore_robots: Annotated[
        bool, typer.Option("--ignore-robots", help="Do not ask for robots.txt. Only for sites of your own.")
    ] = False,
    resume: Annotated[
        Path | None, typer.Option(help="File to keep the crawl in; where it exists, the crawl goes on.")
    ] = None,
    only_pages: Annotated[
        bool, typer.Option("--only-pages", help="No lines for what was refused, redirected or failed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")] = False,
) -> None:
    """Crawl from these URLs now, here, without any server, and write one line for each URL."""
    try:
        settings = _settings(contact=contact, user_agent=user_agent, allow_private=allow_private, delay=delay)
        spec = CrawlSpecDeclared(
            crawl_spec_id="",
            scope=scope.value,
            include=tuple(include or ()),
            exclude=tuple(exclude or ()),
            max_depth=max_depth,
            max_pages=max_pages,
            delay_seconds=settings.host_delay_seconds,
            max_in_flight_per_group=per_host,
            request_timeout_seconds=timeout,
            host_patience_seconds=host_patience,
            respect_robots=not ignore_robots,
            headers=_headers(header or ()),
        )
        wish = make_wish(_seeds(urls or [], from_file), spec, allow_private=allow_private)
        order = Order(
            wish,
            Manners(settings, concurrency=concurrency),
            output=output,
            form=form.value,
            resume=resume,
            max_seconds=max_seconds,
            only_pages=only_pages,
            as_json=as_json,
            is_quiet=quiet,
        )
        code = run_crawl(order)
    except BadWish as wrong:
        typer.echo(f"strider crawl: {wrong}", err=True)
        raise typer.Exit(EXIT_USAGE) from None
    raise typer.Exit(code)


def _settings(*, contact: str, user_agent: str, allow_private: bool, delay: float | None) -> CrawlSettings:
    """Take what the environment says, and what was said here instead."""
    try:
        crawl = load(ServiceSettings, os.environ).settings.crawl
    except SettingsError as failure:
        raise BadWish(str(failure)) from failure
    said: dict[str, object] = {
        "contact": contact,
        "user_agent": user_agent,
        "allow_private": allow_private,
        "host_delay_seconds": delay,
    }
    chosen = {name: value for name, value in said.items() if value not in ("", False, None)}
    if delay is not None:
        chosen["host_delay_seconds"] = delay
    try:
        return CrawlSettings(**{**crawl.model_dump(), **chosen})
    except ValueError as failure:
        raise BadWish(_first_line(failure)) from failure


def _first_line(failure: ValueError) -> str:
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    return " ".join(lines[1:3]) if len(lines) > 1 else str(failure)


def _seeds(urls: Sequence[str], from_file: Path | None) -> Iterator[str]:
    for url in urls:
        if url == "-":
            yield from _urls_of(sys.stdin)
        else:
            yield url
    if from_file is None:
        return
    try:
        with from_file.open(encoding="utf-8") as lines:
            yield from _urls_of(lines)
    except (OSError, UnicodeDecodeError) as failure:
        raise BadWish(f"--from {from_file}: {getattr(failure, 'strerror', None) or failure}") from failure


def _urls_of(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        text = line.strip()
        if text and not text.startswith("#"):
            yield text


def _headers(texts: Sequence[str]) -> Mapping[str, str]:
    headers: dict[str, str] = {}
    for text in texts:
        name, colon, value = text.partition(":")
        is_name = bool(name) and all(letter.isalnum() or letter in "!#$%&'*+-.^_`|~" for letter in name)
        is_text = value.isprintable() and value.isascii() and len(text) <= MAX_HEADER_BYTES
        if not (colon and is_name and name.isascii() and is_text):
            raise BadWish(f"--header {text[:80]!r}: wanted is 'Name: value' in plain characters")
        if name.lower() in {"host", "content-length", "transfer-encoding", "connection"}:
            raise BadWish(f"--header {name}: this one belongs to the connection and cannot be set")
        headers[name] = value.strip()
    return headers
