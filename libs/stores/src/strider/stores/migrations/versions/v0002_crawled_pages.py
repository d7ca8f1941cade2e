"""crawled_pages, url_decisions, failed_requests: what was found, what was not, and why."""

from strider.stores.migrations.sql_files import run_beside

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables."""
    run_beside(__file__, "up")


def downgrade() -> None:
    """Take them away."""
    run_beside(__file__, "down")
