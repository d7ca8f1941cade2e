"""tasks: a view of the processing state of each URL."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the view."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Drop it."""
    run_sql_file(__file__, "down")
