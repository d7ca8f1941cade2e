"""strider why: print the history of a URL, with the service and time of each decision.

Reads what is stored of it (tables, the frontier's and the hosts' topics, or the output of a crawl). Exit
codes: 0 something is known, 1 nothing is, 2 not a URL or no server configured, 3 no
server answers. What is not a URL may
have been submitted as one, so it is looked for too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from strider.cli.arguments import file_error
from strider.cli.connections import run_reported
from strider.cli.exit_codes import CommandExit
from strider.cli.explain.facts import read_output_facts
from strider.cli.explain.lookup import LookupResult, look_up
from strider.cli.explain.subject import UrlSubject, parse_subject
from strider.cli.explain.timeline import timeline_json, timeline_text
from strider.cli.options import AsJson
from strider.cli.output import fail, log_to_stderr, print_text, warn

app = typer.Typer(add_completion=False)


@app.command()
def why(
    url: Annotated[str, typer.Argument(help="The URL.", metavar="URL")],
    job: Annotated[str, typer.Option("--job", help="Only in this job.", metavar="JOB")] = "",
    from_file: Annotated[
        Path | None,
        typer.Option("--from", help="Read this output of `strider crawl`, no servers.", metavar="FILE"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Read the tables only; a large frontier topic takes long.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what was decided about a URL: by which service, when and why."""
    subject = parse_subject(url)
    result = _read_file(from_file, subject) if from_file is not None else _read_servers(subject, job, quick)
    if subject.refusal and not result.has_url_facts:
        fail(subject.refusal, CommandExit.USAGE)
    print_text(timeline_json(subject, result) if as_json else timeline_text(subject, result))
    for line in result.unavailable:
        warn(line)
    if not result.is_configured:
        raise typer.Exit(CommandExit.USAGE)
    if not result.has_url_facts:
        raise typer.Exit(CommandExit.UNAVAILABLE if result.has_no_source else CommandExit.FAILED)


def _read_file(path: Path, subject: UrlSubject) -> LookupResult:
    try:
        return LookupResult(read_output_facts(path, subject.key, subject.text))
    except (OSError, ValueError) as failure:
        fail(file_error(path, failure, option="--from"), CommandExit.USAGE)


def _read_servers(subject: UrlSubject, job: str, quick: bool) -> LookupResult:
    log_to_stderr("error")
    return run_reported(lambda: look_up(subject, os.environ, Path.cwd(), job=job, quick=quick))
