"""strider parser: parsers for single sites, from the first line to the switch.

Says which words there are. Exit codes: 0 all is well, 1 a finding (a case that differs, a page that is
incomplete, a package that cannot be used), 2 wrong usage.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from .options import Contact

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def parser() -> None:
    """Write, test, compare and audit parsers for single sites."""


@app.command("list")
def list_parsers() -> None:
    """Show which site parsers are installed, and what of them cannot be used."""
    from .siteparsers.listing import show_installed  # noqa: PLC0415  # --help waits for no library

    raise typer.Exit(show_installed())


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="What it is called: a-z, 0-9 and -.")],
    domain: Annotated[str, typer.Option("--domain", help="The site that it reads.")],
    folder: Annotated[Path, typer.Option("--folder", help="Where to write the package.")] = Path(),
) -> None:
    """Write a package with a site parser to begin with, and a case to test it by."""
    from .siteparsers.writing import write_package  # noqa: PLC0415  # --help waits for no library

    raise typer.Exit(write_package(name, domain=domain, folder=folder))


@app.command("test")
def run(
    name: Annotated[str, typer.Argument(help="A site parser; without it, all.")] = "",
    cases: Annotated[
        Path | None,
        typer.Option("--cases", help="Folder of cases; without it the parser's own."),
    ] = None,
) -> None:
    """Read saved pages and compare what they say with what is expected of them."""
    from .siteparsers.testing import run_cases  # noqa: PLC0415  # --help waits for no library

    raise typer.Exit(run_cases(name, cases))


@app.command("try")
def try_page(  # noqa: PLR0917  # each is an option
    page: Annotated[str, typer.Argument(help="A URL, or a file with --url.", metavar="URL|FILE")],
    url: Annotated[str, typer.Option("--url", help="Where a file's page comes from.")] = "",
    versions: Annotated[str, typer.Option("--versions", help="Such as name=1.2; else the newest.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    contact: Contact = "",
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Fetch from loopback and private addresses too.")
    ] = False,
) -> None:
    """Show what a site parser finds on one page, attribute by attribute, and what it misses."""
    from .siteparsers.trying import Asked, try_one  # noqa: PLC0415  # --help waits for no library

    raise typer.Exit(try_one(Asked(page, url, versions, as_json, contact, allow_private)))


@app.command("diff")
def diff(
    since: Annotated[str, typer.Option(help="Begin at a time: 15m, 2h, 1d ago, or ISO 8601.")] = "",
    pages: Annotated[int, typer.Option(min=1, max=1_000_000, help="Most pages to compare.")] = 10_000,
    least: Annotated[
        float, typer.Option(min=0, max=1, help="Exit 1 where a field agrees on a smaller share.")
    ] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    bootstrap: Annotated[str, typer.Option("--bootstrap", help="Broker, host:port.")] = "",
) -> None:
    """Compare the live parser and the one in its shadow, field by field."""
    from .siteparsers.diffing import Asked, compare  # noqa: PLC0415  # --help waits for no library
    from .topics_broker import EXIT_USAGE, fail, run_on_broker  # noqa: PLC0415  # --help waits for no library
    from .topics_lines import parse_since  # noqa: PLC0415  # --help waits for no library

    try:
        begin = parse_since(since, datetime.now(UTC)) if since else None
    except ValueError as failure:
        fail(str(failure), EXIT_USAGE)
    asked = Asked(begin, pages, least, as_json)
    raise typer.Exit(run_on_broker(bootstrap, lambda target: compare(target, asked)))


@app.command("audit")
def audit(
    sample: Annotated[int, typer.Option(min=1, max=100_000, help="How many pages to look at.")] = 1_000,
    domain: Annotated[str, typer.Option("--domain", help="Only pages of this site.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    dsn: Annotated[
        str, typer.Option("--dsn", metavar="DSN", help="Database; else POSTGRES_DSN, else the local stack's.")
    ] = "",
) -> None:
    """Look through a sample of stored pages for empty, impossible, repeated and changed fields."""
    from .siteparsers.auditing import Asked, run_audit  # noqa: PLC0415  # --help waits for no library

    raise typer.Exit(run_audit(Asked(dsn, domain, sample, as_json)))
