"""proxies: who asks in our place, and how well."""

from strider.stores.migrations.sql_files import run_beside

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table."""
    run_beside(__file__, "up")


def downgrade() -> None:
    """Take it away."""
    run_beside(__file__, "down")
