"""error_logs: what could not be handled, as rows."""

from strider.stores.migrations.sql_files import run_beside

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the table."""
    run_beside(__file__, "up")


def downgrade() -> None:
    """Take it away."""
    run_beside(__file__, "down")
