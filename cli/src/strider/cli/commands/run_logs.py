"""strider runs logs: print, follow or download the log of a run, from Redis and the archive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strider.cli.connections import run_reported
from strider.cli.exit_codes import CommandExit
from strider.cli.frontier.run_log import download_run_log, print_run_log
from strider.cli.options import AsJsonLines
from strider.cli.output import fail

Name = Annotated[str, typer.Argument(metavar="ID", help="A run, or a job for its latest runs.")]
Lines = Annotated[
    int, typer.Option("--lines", "-n", min=1, max=10_000, help="Number of last lines to print.")
]
Follow = Annotated[
    bool, typer.Option("-f", "--follow", help="Keep printing new lines until the run has ended.")
]
Download = Annotated[
    Path | None,
    typer.Option("--download", metavar="FILE", help="Write the whole log to a new file, as lines of JSON."),
]


def print_logs(
    name: Name,
    lines: Lines = 50,
    follow: Follow = False,
    download: Download = None,
    as_json: AsJsonLines = False,
) -> None:
    """Print the log of a run: what each service did with it, failures by kind, budgets, completion."""
    if download is None:
        run_reported(lambda: print_run_log(name, lines=lines, follow=follow, as_json=as_json))
    elif follow:
        fail("--follow prints lines and --download writes a file: give one of them", CommandExit.USAGE)
    else:
        run_reported(lambda: download_run_log(name, download))
