"""`strider robots check`: what a robots.txt says to URLs, and which of its lines says so.

Exit codes: 0 all URLs are allowed, 1 one is denied, 2 wrong usage (a file that cannot be read among
it), 130 interrupted.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from .options import AllowPrivate, AsJsonLines, Contact

EXIT_DENIED: Final = 1
EXIT_USAGE: Final = 2

app = typer.Typer(no_args_is_help=True, help="See what robots.txt files say.")


@app.callback()
def root() -> None:
    """See what robots.txt files say."""


@app.command()
def check(  # noqa: PLR0917  # each is an option
    urls: Annotated[list[str], typer.Argument(help="URLs to ask about.")],
    file: Annotated[
        str | None, typer.Option("--file", help="Read this robots.txt (- for standard input) and ask nobody.")
    ] = None,
    agent: Annotated[str, typer.Option("--agent", help="In whose name; else ours.")] = "",
    as_json: AsJsonLines = False,
    contact: Contact = "",
    allow_private: AllowPrivate = False,
) -> None:
    """Say of each URL whether robots.txt allows it, and by which line.

    Without --file the robots.txt of each origin is asked as the fetcher asks for it; what cannot be
    reached denies, as it does for the crawler.
    """
    # Only now: with a file none of the services has to be read.
    from .robots_report import lines_of, reports_from_file, token_of  # noqa: PLC0415

    try:
        if file is not None:
            found = reports_from_file(urls, _content(file), agent=token_of(agent))
        else:
            from .robots_asking import reports_from_sites  # noqa: PLC0415

            found = asyncio.run(
                reports_from_sites(urls, agent=agent, contact=contact, allow_private=allow_private)
            )
    except ValueError as wrong:
        typer.echo(f"strider robots check: {wrong}", err=True)
        raise typer.Exit(EXIT_USAGE) from wrong
    for report in found:
        typer.echo(json.dumps(report) if as_json else "\n".join(lines_of(report)))
    raise typer.Exit(0 if all(report["allowed"] for report in found) else EXIT_DENIED)


def _content(file: str) -> bytes:
    if not file:
        raise ValueError("--file: name a file, or - for standard input")
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as failure:
        raise ValueError(f"--file {file}: {failure.strerror}") from failure
