"""strider migrate: upgrade and downgrade the database schema, show its state.

What a migration is and how it runs is in `strider.storage.migrations`. Exit code 1 of `status`: some are
pending.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

import typer

from strider.cli.connections import POSTGRES, reported_failures, require_address
from strider.cli.exit_codes import CommandExit
from strider.cli.options import AsJson, Dsn, Yes
from strider.cli.output import confirm, fail, print_json, print_table, print_text
from strider.storage import migrations
from strider.storage.errors import InvalidMigrationRequest, MigrationFailed
from strider.storage.migrations import DatabaseStatus, MigrationPlan
from strider.storage.migrations import new_revision as drafts

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="Upgrade and downgrade the database schema.")

To = Annotated[str, typer.Option("--to", help="Revision to stop at.", metavar="REVISION")]
PrintSql = Annotated[bool, typer.Option("--dry-run", help="Print the SQL; change nothing.")]


@app.command()
def up(to: To = migrations.HEAD, dry_run: PrintSql = False, dsn: Dsn = "") -> None:
    """Upgrade the schema to the newest revision, or to the one of --to."""
    address = _address(dsn, to)
    if dry_run:
        _print_plan(_run(lambda: _make_plan(address, lambda current: migrations.up_plan(current, to))))
        return
    _print_result(_run(lambda: migrations.upgrade(address, to)), address)


@app.command()
def down(
    steps: Annotated[int, typer.Argument(min=1, help="Number of migrations to revert.")] = 1,
    to: Annotated[
        str, typer.Option("--to", help="Revision to go back to, or base.", metavar="REVISION")
    ] = "",
    yes: Yes = False,
    dry_run: PrintSql = False,
    dsn: Dsn = "",
) -> None:
    """Revert migrations. Rows of dropped tables are lost; topics restore what they retain (pages: 24 h)."""
    address = _address(dsn, to)
    target = to or None
    plan = _run(
        lambda: _make_plan(address, lambda current: migrations.down_plan(current, steps=steps, target=target))
    )
    if dry_run:
        _print_plan(plan)
        return
    if plan.steps:
        names = ", ".join(f"{step.name} ({step.title})" for step in plan.steps)
        confirm(
            f"Revert {names} of {_database_name(address)}? Rows of dropped tables are lost.", is_confirmed=yes
        )
    _print_result(_run(lambda: migrations.downgrade(address, steps=steps, revision=target)), address)


@app.command()
def status(as_json: AsJson = False, dsn: Dsn = "") -> None:
    """List applied and pending migrations. Exit code 1 where some are pending."""
    address = _address(dsn)
    found = _run(lambda: migrations.status(address))
    if as_json:
        print_json(_status_json(found))
    else:
        states = (("done", found.done), ("pending", found.pending))
        rows = [(state, step.name, step.title) for state, steps in states for step in steps]
        print_table(("state", "revision", "title"), rows)
        print_text(f"{_database_name(address)} is at {found.current}, {len(found.pending)} pending")
    raise typer.Exit(CommandExit.DONE if found.is_current else CommandExit.FAILED)


@app.command()
def new(
    title: Annotated[str, typer.Argument(help="What the migration does, in a few words.")],
    page_column: Annotated[
        str,
        typer.Option("--page-column", help="Write the SQL of this column of pages.", metavar="NAME"),
    ] = "",
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Where migrations are.", hidden=True)
    ] = None,
) -> None:
    """Write the three files of the next migration, to fill in, review and commit."""
    with _reported():
        paths = drafts.create_revision(title, page_column=page_column, folder=folder)
    for path in paths:
        print_text(path)


async def _make_plan(dsn: str, plan: Callable[[str], MigrationPlan]) -> MigrationPlan:
    return plan((await migrations.status(dsn)).current)


@contextmanager
def _reported() -> Iterator[None]:
    """End the command with one line: exit code 2 for an argument that cannot be used, 1 for a failure."""
    try:
        with reported_failures():
            yield
    except InvalidMigrationRequest as failure:
        fail(str(failure), CommandExit.USAGE)
    except MigrationFailed as failure:
        fail(str(failure), CommandExit.FAILED)


def _address(dsn: str, revision: str = "") -> str:
    """Return the address; a revision that does not exist is refused before any server is contacted."""
    with _reported():
        migrations.revision_position(migrations.revisions(), revision)
        return require_address(POSTGRES, dsn)


def _run(work: Callable[[], Awaitable[T]]) -> T:
    async def run() -> T:
        return await work()

    with _reported():
        return asyncio.run(run())


def _print_result(plan: MigrationPlan, dsn: str) -> None:
    if not plan.steps:
        print_text(f"{_database_name(dsn)} is at {plan.target}, nothing to do")
        return
    for step in plan.steps:
        print_text(f"{step.name}  {step.title}")
    print_text(f"{_database_name(dsn)} was at {plan.start}, is at {plan.target}")


def _print_plan(plan: MigrationPlan) -> None:
    print_text(plan.sql.rstrip() or f"-- at {plan.start}, nothing to do")


def _status_json(found: DatabaseStatus) -> dict[str, object]:
    return {
        "current": found.current,
        "done": [step.name for step in found.done],
        "pending": [step.name for step in found.pending],
    }


def _database_name(dsn: str) -> str:
    """Return host, port and database of an address, without user and password."""
    try:
        parts = urlsplit(dsn)
        port = parts.port or 5432
    except ValueError:
        return "the database"
    return f"{parts.hostname or 'localhost'}:{port}{parts.path}"
