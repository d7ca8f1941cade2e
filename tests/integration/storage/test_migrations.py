"""Migrations on a real database: forward, back, twice at once, and when a step fails."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import asyncpg
import pytest
from typer.testing import CliRunner

from strider.cli.commands.migrate import app
from strider.cli.connections import STACK_HINT
from strider.messaging.errors import Unavailable
from strider.storage.errors import MigrationFailed
from strider.storage.migrations import MigrationPlan, downgrade, revisions, runner, status, up_plan, upgrade

LAST = revisions()[-1].name


async def _tables(dsn: str) -> set[str]:
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    finally:
        await connection.close()
    return {row["tablename"] for row in rows}


@pytest.mark.req("S1.2.31", "S4.16.3")
@pytest.mark.req("S1.16.2", part="against a real PostgreSQL")
@pytest.mark.req("S4.11.1", part="one command up, and the way back; the files lie in libs/storage")
async def test_up_down_and_up_again(postgres_dsn: str) -> None:
    """One command forward, and the way back works."""
    done = await upgrade(postgres_dsn)
    again = await upgrade(postgres_dsn)
    tables = await _tables(postgres_dsn)
    back = await downgrade(postgres_dsn, revision="base")
    empty = await _tables(postgres_dsn)
    await upgrade(postgres_dsn)

    assert (done.start, done.target, done.steps) == ("base", LAST, revisions())
    assert again.steps == ()
    assert {"error_logs", "alembic_version"} <= tables
    assert back.target == "base"
    assert empty <= {"alembic_version"}
    assert (await status(postgres_dsn)).is_current


async def test_a_fresh_database_has_everything_to_come(postgres_dsn: str) -> None:
    """Nothing is guessed about a database without our mark."""
    found = await status(postgres_dsn)

    assert (found.current, found.done, found.pending) == ("base", (), revisions())


async def test_two_at_once_do_it_once(postgres_dsn: str) -> None:
    """Two instances that start together, each migrating first."""
    plans = await asyncio.gather(*(upgrade(postgres_dsn) for _ in range(4)))

    assert sorted(len(plan.steps) for plan in plans) == [0, 0, 0, len(revisions())]
    assert (await status(postgres_dsn)).is_current


async def test_a_runner_waits_for_another_and_reports_it(postgres_dsn: str) -> None:
    """A lock that never ends is one line, not a hanging start."""

    class Impatient:
        def __init__(self) -> None:
            self._seconds = 0.0

        def monotonic(self) -> float:
            return self._seconds

        async def sleep(self, seconds: float) -> None:
            self._seconds += 30

    holder = await asyncpg.connect(postgres_dsn)
    try:
        await holder.execute(f"SELECT pg_advisory_lock({runner.LOCK_KEY})")
        with pytest.raises(Unavailable, match="another migration has been running"):
            await upgrade(postgres_dsn, clock=Impatient())  # type: ignore[arg-type]  # no more is asked of it
    finally:
        await holder.close()


async def test_a_failed_step_leaves_nothing_of_itself(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps before it stay done, and the message says where the database is."""
    await upgrade(postgres_dsn)
    await downgrade(postgres_dsn, revision="base")

    def with_broken_step(current: str, target: str) -> MigrationPlan:
        plan = up_plan(current, target)
        broken = "BEGIN; CREATE TABLE half (x int); CREATE TABLE half (x int); COMMIT;"
        return MigrationPlan(plan.start, "broken", plan.steps, plan.sql + broken)

    monkeypatch.setattr(runner, "up_plan", with_broken_step)
    with pytest.raises(MigrationFailed, match=rf'refused \(42P07\): .*"half".*; the database is at {LAST}'):
        await upgrade(postgres_dsn)

    assert "half" not in await _tables(postgres_dsn)
    assert (await status(postgres_dsn)).current == LAST


async def test_a_database_of_a_newer_version_is_left_alone(postgres_dsn: str) -> None:
    """Rolling back the program before the tables must not break them."""
    await upgrade(postgres_dsn)
    connection = await asyncpg.connect(postgres_dsn)
    await connection.execute("UPDATE alembic_version SET version_num = '9999'")
    await connection.close()

    with pytest.raises(MigrationFailed, match="9999 is unknown"):
        await upgrade(postgres_dsn)


def _strider(*words: str, dsn: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*words, *(("--dsn", dsn) if dsn else ())], catch_exceptions=False)
    return result.exit_code, result.output


def _process(*words: str, dsn: str) -> tuple[int, str]:
    """Run the command as people do."""
    done = subprocess.run(
        [sys.executable, "-m", "strider.cli", "migrate", *words, "--dsn", dsn],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.req("S1.2.30", "S1.2.31")
@pytest.mark.req("S4.16.2", part="review and apply")
@pytest.mark.req("S4.16.3", part="by a number of steps")
@pytest.mark.req("S1.3.3", part="migrations are a command of their own")
@pytest.mark.req("S4.11.1", part="one command up, and the way back; the files lie in libs/storage")
@pytest.mark.req("S4.16.1", part="the tables, by one command")
def test_the_command_does_what_its_arguments_state(postgres_dsn: str) -> None:
    """Review, apply, look, take back."""
    code, sql = _process("up", "--dry-run", dsn=postgres_dsn)
    assert (code, "CREATE TABLE error_logs" in sql) == (0, True)
    assert _process("status", dsn=postgres_dsn)[0] == 1

    code, said = _process("up", dsn=postgres_dsn)
    assert (code, said.splitlines()[-1].endswith(f"was at base, is at {LAST}")) == (0, True)
    code, said = _process("up", dsn=postgres_dsn)
    assert (code, said.strip().endswith(f"is at {LAST}, nothing to do")) == (0, True)

    code, said = _process("status", "--json", dsn=postgres_dsn)
    assert (code, json.loads(said)) == (
        0,
        {"current": LAST, "done": [step.name for step in revisions()], "pending": []},
    )

    code, said = _process("down", "99", "--yes", dsn=postgres_dsn)
    assert (code, f"cannot revert 99 migrations; applied are {len(revisions())}" in said) == (2, True)

    code, said = _process("down", str(len(revisions())), "--yes", dsn=postgres_dsn)
    assert (code, said.splitlines()[-1].endswith(f"was at {LAST}, is at base")) == (0, True)


def test_down_needs_a_confirmation(postgres_dsn: str) -> None:
    """Rows go with their tables."""
    _strider("up", dsn=postgres_dsn)
    code, said = _strider("down", dsn=postgres_dsn)

    assert (code, "needs --yes" in said) == (2, True)
    assert _strider("status", dsn=postgres_dsn)[0] == 0


@pytest.mark.parametrize(
    ("dsn", "code", "words"),
    [
        pytest.param(
            "postgresql://127.0.0.1:1/x", 3, "does not answer: connection refused", id="unreachable"
        ),
        pytest.param(
            "http://127.0.0.1/x", 2, "must be an address that begins with postgresql://", id="no-address"
        ),
    ],
)
def test_trouble_is_one_line_and_a_code(dsn: str, code: int, words: str) -> None:
    """No traceback for what is not a bug."""
    got, said = _strider("up", dsn=dsn)

    assert (got, len(said.strip().splitlines())) == (code, 1)
    assert words in said


def test_a_wrong_revision_is_one_line(postgres_dsn: str) -> None:
    """It names what there is."""
    code, said = _strider("up", "--to", "0815", dsn=postgres_dsn)

    assert code == 2
    assert "revision 0815 is unknown" in said


def test_a_missing_database_is_reported_with_its_option(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    """Neither option, environment nor stack."""
    monkeypatch.delenv("POSTGRES_DSN", raising=False)
    monkeypatch.setenv("STRIDER_HOME", str(tmp_path))

    assert _strider("status", dsn="") == (
        2,
        (
            "strider: no address of PostgreSQL is configured: give strider --postgres, "
            f"set POSTGRES_DSN, or {STACK_HINT}\n"
        ),
    )
