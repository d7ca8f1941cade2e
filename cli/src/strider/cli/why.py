"""strider why: what was decided about a URL, by whom and when.

Reads what is kept of it (tables, the frontier's and the hosts' log, or the output of a crawl) and
tells it in order of time. Exit codes: 0 something is known, 1 nothing is, 2 that is no URL or wrong
usage, 3 nobody could be asked. What is no URL may still have been sent as one: it is asked about too.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from strider.messaging.errors import StartRefused
from strider.runtime.observability.logging import configure_logs
from strider.runtime.settings.loader import SettingsError

from .why_asking import Answers, ask_everybody
from .why_file import read_output
from .why_story import Subject, as_json, subject_of, tell

EXIT_UNKNOWN: Final = 1
EXIT_USAGE: Final = 2
EXIT_UNREACHABLE: Final = 3
EXIT_INTERRUPTED: Final = 130

app = typer.Typer(add_completion=False)


@app.command()
def why(
    url: Annotated[str, typer.Argument(help="The URL, however it is written.", metavar="URL")],
    job: Annotated[str, typer.Option("--job", help="Only what concerns this job.", metavar="JOB")] = "",
    from_file: Annotated[
        Path | None,
        typer.Option("--from", help="Ask the output of `strider crawl` instead of a stack.", metavar="FILE"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Ask the tables alone; the log of a large frontier takes long.")
    ] = False,
    json_wanted: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Say what was decided about a URL: by whom, when and why."""
    subject = subject_of(url)
    answers = _from(from_file, subject) if from_file is not None else _asked(subject, job=job, quick=quick)
    if subject.refusal and not answers.is_anything_known:
        _end(subject.refusal, EXIT_USAGE)
    print(as_json(subject, answers) if json_wanted else tell(subject, answers))
    for line in answers.silent:
        print(f"strider: {line}", file=sys.stderr)
    if not answers.is_anything_known:
        raise typer.Exit(EXIT_UNREACHABLE if answers.is_nobody_asked else EXIT_UNKNOWN)


def _from(path: Path, subject: Subject) -> Answers:
    try:
        return Answers(read_output(path, subject.key, subject.text))
    except OSError as failure:
        _end(f"--from {path}: {failure.strerror}", EXIT_USAGE)
    except ValueError as failure:
        _end(f"--from {path}: {failure}", EXIT_USAGE)


def _asked(subject: Subject, *, job: str, quick: bool) -> Answers:
    # Standard output is for what was asked for; and that no attempt succeeds is said once, at the end.
    configure_logs("strider", stream=sys.stderr, level="error", console=True)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)
    try:
        return asyncio.run(ask_everybody(subject, os.environ, Path.cwd(), job=job, quick=quick))
    except SettingsError as failure:
        _end("; ".join(failure.problems), EXIT_USAGE)
    except StartRefused as failure:
        _end(str(failure), EXIT_USAGE)
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None


def _end(line: str, code: int) -> NoReturn:
    print(f"strider why: {line}", file=sys.stderr)
    raise typer.Exit(code)
