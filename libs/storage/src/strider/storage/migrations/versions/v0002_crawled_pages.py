"""crawled_pages, url_decisions, failed_requests: pages, refused URLs with reasons, failures."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the tables."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Drop them."""
    run_sql_file(__file__, "down")
