"""strider crawl: crawl now, in this process, without a server; one line of output for each URL.

Says which options there are; `crawl_order` reads them and `embedded` does it. Exit codes: 0 the crawl
is complete, 1 nothing could be fetched or the output failed, 2 wrong usage, 130 interrupted (Ctrl-C)
with the state saved where --resume names a file.
"""

from __future__ import annotations

import gc
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .options import AllowPrivate, Contact, Extract, Headers, UserAgent

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
        Path | None,
        typer.Option("--output", "-o", help="File to write (anew); without it or with -, standard output."),
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="How lines are written.")] = Form.JSONL,
    from_file: Annotated[
        Path | None, typer.Option("--from", help="File of URLs, one a line; # begins a remark.")
    ] = None,
    max_pages: Annotated[int, typer.Option(min=0, help="Pages to fetch at most; 0: no limit.")] = 0,
    max_bytes: Annotated[
        int, typer.Option(min=0, help="Bytes to read at most, as they are sent; 0: no limit.")
    ] = 0,
    max_pages_per_host: Annotated[int, typer.Option(min=0, help="Pages of one host; 0: no limit.")] = 0,
    max_pages_per_domain: Annotated[
        int, typer.Option(min=0, help="Pages of one registrable domain; 0: no limit.")
    ] = 0,
    max_depth: Annotated[
        int, typer.Option(help="Links to follow from where it begins, 10 at most; 0: the start pages only.")
    ] = 3,
    max_seconds: Annotated[int, typer.Option(min=0, help="End in order after so long; 0: no limit.")] = 0,
    scope: Annotated[ScopeWord, typer.Option(help="How far links may lead.")] = ScopeWord.HOST,
    include: Annotated[
        list[str] | None, typer.Option(help="Follow only URLs that match this pattern; may be repeated.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Do not follow URLs that match this pattern; may be repeated.")
    ] = None,
    extract: Annotated[
        Extract,
        typer.Option(help="How much of each page: main adds main text and dates, records adds products."),
    ] = Extract.BASIC,
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
        int,
        typer.Option(
            min=0, max=31_536_000, help="Seconds after which a host that stays out of reach is given up."
        ),
    ] = 120,
    header: Headers = None,
    user_agent: UserAgent = "",
    contact: Contact = "",
    allow_private: AllowPrivate = False,
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
    gc.disable()  # reading all the libraries makes much and drops nothing; the crawl enables it again
    # Only now: whoever asks for --help does not wait for the services.
    from .crawl_order import Asked, carry_out  # noqa: PLC0415

    asked = Asked(
        urls=tuple(urls or ()),
        from_file=from_file,
        output=None if output == Path("-") else output,
        form=form.value,
        max_pages=max_pages,
        max_bytes=max_bytes,
        max_pages_per_host=max_pages_per_host,
        max_pages_per_domain=max_pages_per_domain,
        max_depth=max_depth,
        max_seconds=max_seconds,
        scope=scope.value,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        extract=extract.value,
        delay_seconds=delay,
        per_host=per_host,
        concurrency=concurrency,
        timeout_seconds=timeout,
        host_patience_seconds=host_patience,
        headers=tuple(header or ()),
        user_agent=user_agent,
        contact=contact,
        allow_private=allow_private,
        ignore_robots=ignore_robots,
        resume=resume,
        only_pages=only_pages,
        as_json=as_json,
        is_quiet=quiet,
    )
    raise typer.Exit(carry_out(asked))
