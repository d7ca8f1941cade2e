"""proxies: addresses, credentials and results of proxies."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the table."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Drop it."""
    run_sql_file(__file__, "down")
