"""Which steps lead from one state of the tables to another, as SQL.

Reads the revisions that ship with this package; asks no database.
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

from strider.storage.errors import MigrationFailed

HEAD: Final = "head"
BASE: Final = "base"
"""Before the first revision: no table of ours."""


@dataclass(frozen=True, slots=True)
class MigrationRevision:
    """One step."""

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """What to run to come from one state to another."""

    start: str
    target: str
    steps: tuple[MigrationRevision, ...]
    """In the order in which they are run."""
    sql: str
    """Each step in a transaction of its own, together with the mark that it was done."""


def revisions() -> tuple[MigrationRevision, ...]:
    """List all steps, first to last. They form one line; two heads are refused."""
    scripts = ScriptDirectory.from_config(_config())
    if len(heads := scripts.get_heads()) > 1:
        raise MigrationFailed(f"the revisions have more than one end: {', '.join(sorted(heads))}")
    found = [MigrationRevision(script.revision, script.doc) for script in scripts.walk_revisions()]
    return tuple(reversed(found))


def up_plan(current: str, target: str = HEAD) -> MigrationPlan:
    """Plan the way forward; a target that is behind is refused, because `up` must not take tables away."""
    line = revisions()
    start, end = revision_position(line, current), revision_position(line, target)
    if end < start:
        raise MigrationFailed(f"{target} lies before {current}, where the database is; that is a way down")
    return _plan(line, start, end)


def down_plan(current: str, *, steps: int = 1, target: str | None = None) -> MigrationPlan:
    """Plan the way back, by a number of steps or to a revision (`base`: to nothing)."""
    line = revisions()
    start = revision_position(line, current)
    end = max(0, start - steps) if target is None else revision_position(line, target)
    if steps < 1 or end > start:
        raise MigrationFailed(
            f"{target or steps} lies after {current}, where the database is; that is a way up"
        )
    return _plan(line, start, end)


def revision_position(line: tuple[MigrationRevision, ...], name: str) -> int:
    """Say how many steps are done when the tables are at this revision."""
    if name in {BASE, ""}:
        return 0
    if name == HEAD:
        return len(line)
    for number, revision in enumerate(line, start=1):
        if revision.name == name:
            return number
    known = ", ".join(revision.name for revision in line)
    raise MigrationFailed(f"revision {name} is not known to this version of Strider (it knows {known})")


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
        raise MigrationFailed(f"the revisions cannot be read: {failure}") from failure
    # Coming back to nothing leaves alembic's table empty, and leaving from nothing it makes it anew.
    first = "DROP TABLE IF EXISTS alembic_version;\n\n" if start == 0 else ""
    return MigrationPlan(names[start], names[end], steps, first + output.getvalue())


def _config(output: io.StringIO | None = None) -> Config:
    config = Config(output_buffer=output) if output else Config()
    here = str(Path(__file__).parent).replace("%", "%%")
    config.set_main_option("script_location", here)
    config.set_main_option("path_separator", "os")
    return config
