"""Creation of a new migration: the three files of a revision, numbered after the last.

Writes into a checkout and nowhere else. The SQL of a column of `crawled_pages` follows from its declaration;
any other is for a person to write.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from strider.storage.errors import InvalidMigrationRequest, MigrationFailed
from strider.storage.rows.pages import PAGE_COLUMNS
from strider.storage.rows.sql_types import sql_definition

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


def create_revision(title: str, *, page_column: str = "", folder: Path | None = None) -> tuple[Path, ...]:
    """Write the files of a new revision, which may add a declared column of pages; return their paths."""
    up, down = _column_sql(page_column) if page_column else ("", "")
    words = "_".join(re.findall(r"[a-z0-9]+", title.lower()))[:40].strip("_")
    if not words or '"' in title or "\\" in title or "\n" in title:
        raise InvalidMigrationRequest("name the migration in a few plain words, such as: add jobs")
    line = revisions()
    last = line[-1].name if line else None
    number = f"{int(last or 0) + 1:04d}"
    stem = (folder or _VERSIONS) / f"v{number}_{words}"
    texts = {
        stem.with_suffix(".py"): _MODULE.format(
            title=title, number=number, last=f'"{last}"' if last else "None"
        ),
        stem.with_suffix(".up.sql"): f"-- {title}.\n{up}",
        stem.with_suffix(".down.sql"): f"-- Undo: {title}.\n{down}",
    }
    try:
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as failure:
        raise MigrationFailed(f"cannot write {failure.filename}: {failure.strerror}") from failure
    return tuple(texts)


def _column_sql(name: str) -> tuple[str, str]:
    """Return the SQL that adds a column to `crawled_pages`, and the SQL that drops it."""
    column = next((each for each in PAGE_COLUMNS if each.name == name), None)
    if column is None:
        raise InvalidMigrationRequest(
            f"PageRow has no column {name!r}; declare it in strider.storage.rows.pages first"
        )
    try:
        definition = sql_definition(column)
    except KeyError:
        raise InvalidMigrationRequest(
            f"existing pages have no value for {name}, a time; make the migration without --page-column "
            "and write its SQL"
        ) from None
    return (
        f"ALTER TABLE crawled_pages ADD COLUMN {name} {definition};\n",
        f"ALTER TABLE crawled_pages DROP COLUMN {name};\n",
    )
