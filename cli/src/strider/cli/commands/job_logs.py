"""strider jobs logs: print, follow or download the log of a job's run, over HTTP."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strider.cli.api.connection import open_api
from strider.cli.api.lookup import find_job
from strider.cli.exit_codes import CommandExit
from strider.cli.options import ApiToken, ApiUrl, AsJsonLines
from strider.cli.output import counted, fail, json_text, print_status, print_text

from .run_logs import Download, Follow, Lines

if TYPE_CHECKING:
    from strider.client import StriderClient

Job = Annotated[
    str, typer.Argument(metavar="JOB", help="Id or name of a job; 6 characters of its id will do.")
]
Run = Annotated[str, typer.Option("--run", metavar="RUN", help="A run of it; its latest one by default.")]


def print_job_logs(  # noqa: PLR0917  # options, which are given by name
    job: Job,
    run: Run = "",
    lines: Lines = 50,
    follow: Follow = False,
    download: Download = None,
    api_url: ApiUrl = "",
    token: ApiToken = "",
    as_json: AsJsonLines = False,
) -> None:
    """Print the log of a job's latest run: what each service did with it."""
    if download is not None and follow:
        fail("--follow prints lines and --download writes a file: give one of them", CommandExit.USAGE)
    with open_api(api_url, token) as api:
        job = _id_of(api, job)
        if download is not None:
            _download(api.logs.lines(job, run=run or None), download)
            return
        for line in _lines(api, job, run or None, most=lines, follow=follow):
            print_text(_text(line, as_json=as_json), flush=follow)


def _id_of(api: StriderClient, text: str) -> str:
    """Return the id of a job; while the API cannot look it up, the text: logs need no database."""
    from strider.client import ApiUnreachable  # noqa: PLC0415  # --help waits for no library

    try:
        return find_job(api, text).id
    except ApiUnreachable:
        return text


def _lines(
    api: StriderClient, job: str, run: str | None, *, most: int, follow: bool
) -> Iterator[dict[str, Any]]:
    """Yield the last lines, then new ones until the run has ended."""
    from strider.client import NotFoundProblem  # noqa: PLC0415  # --help waits for no library

    last: deque[dict[str, Any]] = deque(maxlen=most)
    try:
        last.extend(api.logs.lines(job, run=run))
    except NotFoundProblem:
        if not follow:
            raise
    # the services write one after the other, each some time after its event
    yield from sorted(last, key=lambda line: str(line.get("ts", "")))
    if follow:
        after = str(last[-1]["id"]) if last else ""
        known = str(last[-1]["execution_id"]) if last else run
        yield from api.logs.follow(job, run=known, after=after)


def _text(line: dict[str, Any], *, as_json: bool) -> str:
    from strider.storage.run_logs.plain_text import line_text  # noqa: PLC0415  # as above

    text = json_text({name: value for name, value in line.items() if name != "id"})
    return text if as_json else line_text(text, omitted={"execution_id"})


def _download(lines: Iterator[dict[str, Any]], path: Path) -> None:
    count = 0
    first = next(lines, None)  # a job without lines leaves no file
    try:
        with path.open("x", encoding="utf-8") as file:
            for line in (*([first] if first is not None else ()), *lines):
                file.write(json_text(line) + "\n")
                count += 1
    except OSError as failure:
        fail(f"--download: {path}: {failure.strerror}", CommandExit.USAGE)
    print_status(f"{counted(count, 'line')} written to {path}")
