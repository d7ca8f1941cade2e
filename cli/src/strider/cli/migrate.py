"""`strider migrate`: bring the database's tables forward, take steps back, say where they are.

Knows words and exit codes; what a step is and how it is run is `strider.storage.migrations`'.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar
from urllib.parse import urlsplit

import typer

from strider.localstack.plan.endpoints import read_endpoints
from strider.messaging.errors import StartRefused, Unavailable
from strider.storage import migrations
from strider.storage.errors import MigrationFailed
from strider.storage.migrations import DatabaseStatus, MigrationPlan
from strider.storage.migrations import new_revision as drafts

FAILED = 1
USAGE = 2
UNREACHABLE = 3

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="Move the database schema up and down.")

Dsn = Annotated[
    str,
    typer.Option("--dsn", help="Database; else POSTGRES_DSN, else the stack that runs here.", metavar="DSN"),
]
To = Annotated[str, typer.Option("--to", help="Revision to stop at.", metavar="REVISION")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the SQL and change nothing.")]


@app.command()
def up(to: To = migrations.HEAD, dry_run: DryRun = False, dsn: Dsn = "") -> None:
    """Bring the tables forward, to the newest revision or to the one named."""
    address = _address(dsn)
    if dry_run:
        _print_plan(_run(lambda: _planned(address, lambda current: migrations.up_plan(current, to))))
        return
    _report(_run(lambda: migrations.upgrade(address, to)), address)


@app.command()
def down(
    steps: Annotated[int, typer.Argument(min=1, help="How many steps to take back.")] = 1,
    to: Annotated[
        str, typer.Option("--to", help="Revision to go back to, or base.", metavar="REVISION")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: DryRun = False,
    dsn: Dsn = "",
) -> None:
    """Take steps back. The rows of the tables that go are gone; reading the topics again fills them."""
    address = _address(dsn)
    target = to or None
    plan = _run(
        lambda: _planned(address, lambda current: migrations.down_plan(current, steps=steps, target=target))
    )
    if dry_run:
        _print_plan(plan)
        return
    if plan.steps and not yes:
        names = ", ".join(f"{step.name} ({step.title})" for step in plan.steps)
        typer.confirm(f"Take back {names} at {_place(address)}?", abort=True)
    _report(_run(lambda: migrations.downgrade(address, steps=steps, revision=target)), address)


@app.command()
def status(
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False, dsn: Dsn = ""
) -> None:
    """Say which steps a database has seen. Exit code 1 where some are still to come."""
    address = _address(dsn)
    found = _run(lambda: migrations.status(address))
    if as_json:
        typer.echo(json.dumps(_as_object(found)))
    else:
        for mark, steps in (("done", found.done), ("pending", found.pending)):
            for step in steps:
                typer.echo(f"{mark:8} {step.name}  {step.title}")
        typer.echo(f"{_place(address)} is at {found.current}, {len(found.pending)} to come")
    raise typer.Exit(0 if found.is_current else FAILED)


@app.command()
def new(
    title: Annotated[str, typer.Argument(help="What the step does, in a few words.")],
    folder: Annotated[Path | None, typer.Option("--folder", help="Where the steps are.", hidden=True)] = None,
) -> None:
    """Begin the next step: writes its three files, for you to fill in, review and commit."""
    for path in _run_now(lambda: drafts.create_revision(title, folder=folder)):
        typer.echo(path)


async def _planned(dsn: str, plan: Callable[[str], MigrationPlan]) -> MigrationPlan:
    return plan((await migrations.status(dsn)).current)


def _address(dsn: str) -> str:
    found = dsn or read_endpoints(os.environ, Path.cwd()).get("postgres", "")
    if not found:
        _end("no database is named: give --dsn, set POSTGRES_DSN, or run strider up", USAGE)
    return found


def _run(work: Callable[[], Awaitable[T]]) -> T:
    async def awaited() -> T:
        return await work()

    return _run_now(lambda: asyncio.run(awaited()))


def _run_now(work: Callable[[], T]) -> T:
    try:
        return work()
    except Unavailable as failure:
        _end(str(failure), UNREACHABLE)
    except StartRefused as failure:
        _end(str(failure), USAGE)
    except MigrationFailed as failure:
        _end(str(failure), FAILED)


def _end(line: str, code: int) -> NoReturn:
    typer.echo(f"strider migrate: {line}", err=True)
    raise typer.Exit(code)


def _report(plan: MigrationPlan, dsn: str) -> None:
    if not plan.steps:
        typer.echo(f"{_place(dsn)} is at {plan.target}, nothing to do")
        return
    for step in plan.steps:
        typer.echo(f"{step.name}  {step.title}")
    typer.echo(f"{_place(dsn)} was at {plan.start}, is at {plan.target}")


def _print_plan(plan: MigrationPlan) -> None:
    typer.echo(plan.sql.rstrip() or f"-- at {plan.start}, nothing to do")


def _as_object(found: DatabaseStatus) -> dict[str, object]:
    return {
        "current": found.current,
        "done": [step.name for step in found.done],
        "pending": [step.name for step in found.pending],
    }


def _place(dsn: str) -> str:
    """Name the database without user and password."""
    try:
        parts = urlsplit(dsn)
        port = parts.port or 5432
    except ValueError:
        return "the database"
    return f"{parts.hostname or 'localhost'}:{port}{parts.path}"
