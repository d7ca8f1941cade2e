"""strider doctor: check what is installed, configured and reachable, and print what to do.

Works with nothing running. Exit code 1: there is a fault; warnings alone are exit code 0.
"""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from strider.cli.exit_codes import CommandExit
from strider.cli.options import AsJson
from strider.cli.output import counted, print_json, print_table, print_text, styled

if TYPE_CHECKING:
    from strider.cli.doctor.checks import CheckReport

app = typer.Typer(add_completion=False)

STYLES: Final = {"ok": "green", "warning": "yellow", "fault": "bold red"}


@app.command()
def doctor(
    timeout: Annotated[
        float, typer.Option(min=0.5, max=60.0, help="Seconds for each check; all run at the same time.")
    ] = 5.0,
    as_json: AsJson = False,
) -> None:
    """Check what is installed, configured and reachable; exit code 1 where something is faulty."""
    from strider.cli.doctor.report import run_doctor  # noqa: PLC0415  # --help waits for no library

    report = run_doctor(os.environ, Path.cwd(), deadline_seconds=timeout)
    if as_json:
        print_json({"ok": report.is_healthy, "checks": [asdict(each) for each in report.findings]}, indent=1)
    else:
        print_report(report)
    code = CommandExit.DONE if report.is_healthy else CommandExit.FAILED
    if report.has_hanging:
        # A thread that hangs in a library would keep the interpreter from exiting.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise typer.Exit(code)


def print_report(report: CheckReport) -> None:
    """Print the findings as a table, and how many there are of each kind."""
    rows = [
        (
            styled((each.status.value, STYLES[each.status.value])),
            each.name,
            f"{each.detail} → {each.remedy}" if each.remedy else each.detail,
        )
        for each in report.findings
    ]
    print_table(("status", "check", "finding"), rows, wrapped=("finding",))
    counts = [sum(each.status.value == status for each in report.findings) for status in ("fault", "warning")]
    checks = counted(len(report.findings), "check")
    print_text(f"\n{counted(counts[0], 'fault')}, {counted(counts[1], 'warning')}, {checks}")
