"""strider robots: evaluate robots.txt for URLs, and name the line that decides.

Exit code 1: a URL is denied.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from strider.cli.arguments import file_error
from strider.cli.exit_codes import CommandExit
from strider.cli.options import AllowPrivate, AsJsonLines, Contact
from strider.cli.output import fail, json_text, print_text

app = typer.Typer(no_args_is_help=True, help="Evaluate robots.txt files.")


@app.callback()
def root() -> None:
    """Evaluate robots.txt files."""


@app.command()
def check(  # noqa: PLR0917  # options, which are given by name
    urls: Annotated[list[str], typer.Argument(help="URLs to check.")],
    file: Annotated[
        str | None, typer.Option("--file", help="Read this robots.txt (- for standard input); fetch none.")
    ] = None,
    agent: Annotated[str, typer.Option("--agent", help="User-Agent to test (default: ours).")] = "",
    as_json: AsJsonLines = False,
    contact: Contact = "",
    allow_private: AllowPrivate = False,
) -> None:
    """Check whether robots.txt allows URLs, and print the line that decides.

    Without --file the robots.txt of each origin is fetched as the fetcher fetches it; one that cannot be
    reached denies, as it does for the crawler.
    """
    # With --file none of the services has to be imported.
    from strider.cli.fetch.robots_client import agent_token, check_file, report_lines  # noqa: PLC0415

    try:
        if file is not None:
            reports = check_file(urls, _read_content(file), agent=agent_token(agent))
        else:
            from strider.cli.fetch.robots_client import check_sites  # noqa: PLC0415

            reports = asyncio.run(
                check_sites(urls, agent=agent, contact=contact, allow_private=allow_private)
            )
    except ValueError as wrong:
        fail(str(wrong), CommandExit.USAGE)
    for report in reports:
        print_text(json_text(report) if as_json else "\n".join(report_lines(report)))
    all_allowed = all(report["allowed"] for report in reports)
    raise typer.Exit(CommandExit.DONE if all_allowed else CommandExit.FAILED)


def _read_content(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as failure:
        raise ValueError(file_error(file, failure, option="--file")) from failure
