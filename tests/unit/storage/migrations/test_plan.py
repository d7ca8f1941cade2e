"""Plans: which steps, in which order, as SQL; no database is asked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from strider.storage.errors import InvalidMigrationRequest, MigrationFailed
from strider.storage.migrations import down_plan, revisions, up_plan
from strider.storage.migrations.new_revision import create_revision

VERSIONS = (
    Path(__file__).parents[4] / "libs" / "storage" / "src" / "strider" / "storage" / "migrations" / "versions"
)


@pytest.mark.req("S4.11.1", part="one command up, and the way back; the files lie in libs/storage")
def test_every_step_has_a_way_back() -> None:
    """What cannot be undone cannot be tried."""
    steps = revisions()

    assert [step.name for step in steps] == [f"{number:04d}" for number in range(1, len(steps) + 1)]
    for module in VERSIONS.glob("v[0-9]*.py"):
        for direction in ("up", "down"):
            assert module.with_suffix(f".{direction}.sql").read_text(encoding="utf-8").strip()


def test_migrations_are_found_at_the_projects_root() -> None:
    """Where an operator looks for them."""
    link = Path(__file__).parents[4] / "deploy" / "postgres" / "migrations"

    assert link.resolve() == VERSIONS


def test_each_step_is_a_transaction_with_its_mark() -> None:
    """A step that fails leaves no half of itself, and no mark."""
    plan = up_plan("base")
    steps = revisions()

    assert (plan.start, plan.target, plan.steps) == ("base", steps[-1].name, steps)
    assert len(re.findall(r"^BEGIN;", plan.sql, re.MULTILINE)) == len(steps)
    assert len(re.findall(r"^COMMIT;", plan.sql, re.MULTILINE)) == len(steps)
    assert "INSERT INTO alembic_version" in plan.sql
    assert (VERSIONS / "v0001_error_logs.up.sql").read_text(encoding="utf-8").strip() in plan.sql


@pytest.mark.req("S4.16.3")
def test_the_way_back_is_by_steps_or_to_a_revision() -> None:
    """One step, or everything down to a named one."""
    last = revisions()[-1]

    assert down_plan(last.name).steps == (last,)
    assert down_plan(last.name, target="base").steps == tuple(reversed(revisions()))
    assert down_plan(last.name, steps=len(revisions())).target == "base"
    assert down_plan("base").steps == ()


def test_more_steps_than_were_applied_are_refused() -> None:
    """A mistyped number must not drop every table."""
    first, second, *_ = revisions()

    with pytest.raises(InvalidMigrationRequest, match="cannot revert 99 migrations; applied are 2"):
        down_plan(second.name, steps=99)
    with pytest.raises(InvalidMigrationRequest, match="cannot revert 2 migrations; applied are 1"):
        down_plan(first.name, steps=2)


def test_nothing_to_do_is_no_sql() -> None:
    """A second `up` changes nothing."""
    plan = up_plan(revisions()[-1].name)

    assert (plan.steps, plan.sql) == ((), "")


def test_the_wrong_way_is_refused() -> None:
    """`up` must never take a table away."""
    last = revisions()[-1].name

    with pytest.raises(MigrationFailed, match="use a downgrade"):
        up_plan(last, "base")
    with pytest.raises(MigrationFailed, match="use an upgrade"):
        down_plan("base", target=last)


def test_a_database_of_a_newer_version_is_refused() -> None:
    """An old program must not touch tables that it does not know."""
    with pytest.raises(MigrationFailed, match="revision 9999 is unknown to this version"):
        up_plan("9999")


@pytest.mark.req("S4.16.2", part="generate")
def test_a_new_step_is_begun_after_the_last(tmp_path: Path) -> None:
    """Generate, review, apply."""
    module, up, down = create_revision("Add jobs", folder=tmp_path)
    following = f"{int(revisions()[-1].name) + 1:04d}"

    assert [path.name for path in (module, up, down)] == [
        f"v{following}_add_jobs{ending}" for ending in (".py", ".up.sql", ".down.sql")
    ]
    assert f'down_revision = "{revisions()[-1].name}"' in module.read_text(encoding="utf-8")
    compile(module.read_text(encoding="utf-8"), module.name, "exec")
    with pytest.raises(MigrationFailed, match=r"cannot write .*: File exists"):
        create_revision("Add jobs", folder=tmp_path)


@pytest.mark.parametrize("title", ["", "…", 'a "b"', "a\nb"])
def test_a_step_needs_a_plain_name(title: str, tmp_path: Path) -> None:
    """It becomes a file name and a docstring."""
    with pytest.raises(MigrationFailed, match="plain words"):
        create_revision(title, folder=tmp_path)


@pytest.mark.parametrize(
    ("column", "definition"),
    [
        pytest.param("title", "text NOT NULL DEFAULT ''", id="text"),
        pytest.param("word_count", "bigint NOT NULL DEFAULT 0", id="number"),
        pytest.param("truncated", "boolean NOT NULL DEFAULT false", id="boolean"),
        pytest.param("warnings", "jsonb NOT NULL DEFAULT '[]'", id="list"),
        pytest.param("metadata", "jsonb NOT NULL DEFAULT '{}'", id="object"),
    ],
)
def test_the_sql_of_a_column_follows_from_its_declaration(
    tmp_path: Path, column: str, definition: str
) -> None:
    """Existing rows get the value of a page that has none."""
    _, up, down = create_revision("Add a column", page_column=column, folder=tmp_path)

    assert up.read_text() == (
        f"-- Add a column.\nALTER TABLE crawled_pages ADD COLUMN {column} {definition};\n"
    )
    assert down.read_text() == f"-- Undo: Add a column.\nALTER TABLE crawled_pages DROP COLUMN {column};\n"


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        pytest.param("titel", "PageRow has no column 'titel'", id="unknown"),
        pytest.param("crawled_at", "existing pages have no value for crawled_at", id="time"),
    ],
)
def test_a_column_without_sql_writes_no_file(tmp_path: Path, column: str, reason: str) -> None:
    with pytest.raises(MigrationFailed, match=reason):
        create_revision("Add a column", page_column=column, folder=tmp_path)

    assert list(tmp_path.iterdir()) == []
