"""error_logs: dead letters as rows."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the table."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Drop it."""
    run_sql_file(__file__, "down")
