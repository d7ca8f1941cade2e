"""error_logs: what could not be handled, as rows."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the table."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Take it away."""
    run_sql_file(__file__, "down")
