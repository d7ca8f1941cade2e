"""Planning of migrations: the steps between two revisions, as SQL.

Reads the revisions of this package; connects to no database.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from strider.storage.errors import InvalidMigrationRequest, MigrationFailed

HEAD: Final = "head"
BASE: Final = "base"
"""Before the first revision: no table of ours."""


@dataclass(frozen=True, slots=True)
class MigrationRevision:
    """One migration step."""

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """The SQL that leads from one revision to another."""

    start: str
    target: str
    steps: tuple[MigrationRevision, ...]
    """In the order in which they are run."""
    sql: str
    """Each step in a transaction of its own, together with its version mark."""


def revisions() -> tuple[MigrationRevision, ...]:
    """Return all revisions, first to last. They form one line; two heads are refused."""
    scripts = ScriptDirectory.from_config(_config())
    if len(heads := scripts.get_heads()) > 1:
        raise MigrationFailed(f"the revisions have more than one head: {', '.join(sorted(heads))}")
    found = [MigrationRevision(script.revision, script.doc) for script in scripts.walk_revisions()]
    return tuple(reversed(found))


def up_plan(current: str, target: str = HEAD) -> MigrationPlan:
    """Plan an upgrade; an older target is refused, because `up` must not drop tables."""
    line = revisions()
    start, end = revision_position(line, current), revision_position(line, target)
    if end < start:
        raise MigrationFailed(f"{target} is older than {current}, where the database is; use a downgrade")
    return _plan(line, start, end)


def down_plan(current: str, *, steps: int = 1, target: str | None = None) -> MigrationPlan:
    """Plan a downgrade, by a number of steps or to a revision (`base`: to nothing)."""
    line = revisions()
    start = revision_position(line, current)
    if target is None and 0 < start < steps:
        raise InvalidMigrationRequest(f"cannot revert {steps} migrations; applied are {start}")
    end = max(0, start - steps) if target is None else revision_position(line, target)
    if steps < 1 or end > start:
        raise MigrationFailed(
            f"{target or steps} is newer than {current}, where the database is; use an upgrade"
        )
    return _plan(line, start, end)


def revision_position(line: tuple[MigrationRevision, ...], name: str) -> int:
    """Return how many revisions are applied when the tables are at this one."""
    if name in {BASE, ""}:
        return 0
    if name == HEAD:
        return len(line)
    for number, revision in enumerate(line, start=1):
        if revision.name == name:
            return number
    known = ", ".join(revision.name for revision in line)
    raise InvalidMigrationRequest(f"revision {name} is unknown to this version of Strider (known: {known})")


def _plan(line: tuple[MigrationRevision, ...], start: int, end: int) -> MigrationPlan:
    names = (BASE, *(revision.name for revision in line))
    if start == end:
        return MigrationPlan(names[start], names[end], (), "")
    steps = line[start:end] if end > start else tuple(reversed(line[end:start]))
    output = io.StringIO()
    run = command.upgrade if end > start else command.downgrade
    try:
        run(_config(output), f"{names[start]}:{names[end]}", sql=True)
    except (CommandError, OSError) as failure:
        raise MigrationFailed(f"cannot read the revisions: {failure}") from failure
    # A downgrade to nothing leaves alembic's table empty, and an upgrade from nothing creates it.
    first = "DROP TABLE IF EXISTS alembic_version;\n\n" if start == 0 else ""
    return MigrationPlan(names[start], names[end], steps, first + output.getvalue())


def _config(output: io.StringIO | None = None) -> Config:
    config = Config(output_buffer=output) if output else Config()
    here = str(Path(__file__).parent).replace("%", "%%")
    config.set_main_option("script_location", here)
    config.set_main_option("path_separator", "os")
    return config
