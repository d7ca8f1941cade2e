"""Execution of the SQL file beside a revision, as it is written."""

from __future__ import annotations

from pathlib import Path

from alembic import op


def run_sql_file(revision_file: str, direction: str) -> None:
    """Output `<revision>.up.sql` or `.down.sql`.

    Bypasses alembic's `op.execute`, which would read colons and percent signs as parameters.
    """
    text = Path(revision_file).with_suffix(f".{direction}.sql").read_text(encoding="utf-8")
    op.get_context().impl.static_output(text.strip())
