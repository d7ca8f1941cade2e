"""strider parser: parsers for single sites, from the first line to the switch.

Says which words there are. Exit codes: 0 all is well, 1 a finding (a case that differs, a page that is
incomplete, a package that cannot be used), 2 wrong usage.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    contact: Annotated[str, typer.Option(help="URL or mail address of whom sites may write to.")] = "",
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Fetch from loopback and private addresses too.")
    ] = False,
) -> None:
    """Show what a site parser finds on one page, attribute by attribute, and what it misses."""
    from .siteparsers.trying import Asked, try_one  # noqa: PLC0415  # --help waits for no library

    raise typer.Exit(try_one(Asked(page, url, versions, as_json, contact, allow_private)))
