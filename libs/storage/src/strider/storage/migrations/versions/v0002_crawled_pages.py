"""crawled_pages, url_decisions, failed_requests: what was found, what was not, and why."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Take them away."""
    run_sql_file(__file__, "down")
