"""tasks: how far the work for each URL is, as a view of what is known of it."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the view."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Take it away."""
    run_sql_file(__file__, "down")
