"""strider parser: write, test, compare and audit parsers for single sites.

Exit code 1: a finding, such as a case that differs, an incomplete page, or an unusable package.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from strider.cli.exit_codes import CommandExit
from strider.cli.options import AllowPrivate, AsJson, Bootstrap, Contact, Dsn
from strider.cli.output import fail

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def parser() -> None:
    """Write, test, compare and audit parsers for single sites."""


@app.command("list")
def list_parsers(as_json: AsJson = False) -> None:
    """List the installed site parsers, and what is wrong with them."""
    from strider.cli.site_parsers.inspection import print_installed  # noqa: PLC0415  # --help is fast

    raise typer.Exit(print_installed(as_json=as_json))


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="Name of the parser: a-z, 0-9 and -.")],
    domain: Annotated[str, typer.Option("--domain", help="Domain of the site.")],
    folder: Annotated[Path, typer.Option("--folder", help="Folder for the package.")] = Path(),
) -> None:
    """Write a package with a first version of a site parser, and a test case for it."""
    from strider.cli.site_parsers.scaffold import write_package  # noqa: PLC0415  # as above

    raise typer.Exit(write_package(name, domain=domain, folder=folder))


@app.command("test")
def run(
    name: Annotated[str, typer.Argument(help="A site parser; default: all.")] = "",
    cases: Annotated[
        Path | None,
        typer.Option("--cases", help="Folder of cases; default: the parser's own."),
    ] = None,
) -> None:
    """Parse saved pages, and compare the result with the expected one."""
    from strider.cli.site_parsers.cases import run_cases  # noqa: PLC0415  # as above

    raise typer.Exit(run_cases(name, cases))


@app.command("try")
def try_site_parser(  # noqa: PLR0917  # options, which are given by name
    page: Annotated[str, typer.Argument(help="A URL, or a file with --url.", metavar="URL|FILE")],
    url: Annotated[str, typer.Option("--url", help="URL of the page in a file.")] = "",
    versions: Annotated[str, typer.Option("--versions", help="Such as name=1.2; default: the newest.")] = "",
    as_json: AsJson = False,
    contact: Contact = "",
    allow_private: AllowPrivate = False,
) -> None:
    """Print what a site parser extracts from one page, field by field, and what it misses."""
    from strider.cli.site_parsers.inspection import TryOptions, try_page  # noqa: PLC0415  # as above

    raise typer.Exit(try_page(TryOptions(page, url, versions, as_json, contact, allow_private)))


@app.command("diff")
def diff(  # noqa: PLR0917  # options, which are given by name
    since: Annotated[str, typer.Option(help="Start at a time: 15m, 2h, 1d ago, or ISO 8601.")] = "",
    pages: Annotated[int, typer.Option(min=1, max=1_000_000, help="Most pages to compare.")] = 10_000,
    min_agreement: Annotated[
        float,
        typer.Option(min=0, max=1, help="Exit code 1 where a field agrees on a smaller share of pages."),
    ] = 0.0,
    least: Annotated[
        float | None, typer.Option(min=0, max=1, hidden=True, help="Former name of --min-agreement.")
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = "",
) -> None:
    """Compare the live parser with the shadow parser, field by field."""
    from strider.cli.connections import run_with_broker  # noqa: PLC0415
    from strider.cli.messages import parse_since  # noqa: PLC0415  # as above
    from strider.cli.site_parsers.diff import DiffOptions, run_diff  # noqa: PLC0415  # as above

    try:
        begin = parse_since(since, datetime.now(UTC)) if since else None
    except ValueError as failure:
        fail(str(failure), CommandExit.USAGE)
    options = DiffOptions(begin, pages, min_agreement if least is None else least, as_json)
    raise typer.Exit(run_with_broker(bootstrap, lambda target: run_diff(target, options)))


@app.command("audit")
def audit(
    sample: Annotated[int, typer.Option(min=1, max=100_000, help="Number of pages.")] = 1_000,
    domain: Annotated[str, typer.Option("--domain", help="Only pages of this site.")] = "",
    as_json: AsJson = False,
    dsn: Dsn = "",
) -> None:
    """Search a sample of stored pages for empty, impossible, repeated and changed fields."""
    from strider.cli.site_parsers.audit import AuditOptions, run_audit  # noqa: PLC0415  # as above

    raise typer.Exit(run_audit(AuditOptions(dsn, domain, sample, as_json)))
