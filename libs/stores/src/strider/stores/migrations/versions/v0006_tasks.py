"""tasks: how far the work for each URL is, as a view of what is known of it."""

from strider.stores.migrations.sql_files import run_beside

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the view."""
    run_beside(__file__, "up")


def downgrade() -> None:
    """Take it away."""
    run_beside(__file__, "down")
