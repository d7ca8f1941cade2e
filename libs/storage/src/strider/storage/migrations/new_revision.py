"""Creation of a new migration: the three files of a revision, numbered after the last.

Writes into a checkout and nowhere else; the SQL is for a person to write.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from strider.storage.errors import MigrationFailed

from .plan import revisions

_VERSIONS: Final = Path(__file__).parent / "versions"

_MODULE: Final = '''"""{title}."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "{number}"
down_revision = {last}


def upgrade() -> None:
    """Upgrade."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Downgrade."""
    run_sql_file(__file__, "down")
'''


def create_revision(title: str, *, folder: Path | None = None) -> tuple[Path, ...]:
    """Write the files of a new revision and return their paths."""
    words = "_".join(re.findall(r"[a-z0-9]+", title.lower()))[:40].strip("_")
    if not words or '"' in title or "\\" in title or "\n" in title:
        raise MigrationFailed("name the migration in a few plain words, such as: add jobs")
    line = revisions()
    last = line[-1].name if line else None
    number = f"{int(last or 0) + 1:04d}"
    stem = (folder or _VERSIONS) / f"v{number}_{words}"
    texts = {
        stem.with_suffix(".py"): _MODULE.format(
            title=title, number=number, last=f'"{last}"' if last else "None"
        ),
        stem.with_suffix(".up.sql"): f"-- {title}.\n",
        stem.with_suffix(".down.sql"): f"-- Undo: {title}.\n",
    }
    try:
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as failure:
        raise MigrationFailed(f"cannot write {failure.filename}: {failure.strerror}") from failure
    return tuple(texts)
