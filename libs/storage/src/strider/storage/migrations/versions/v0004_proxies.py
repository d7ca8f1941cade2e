"""proxies: who asks in our place, and how well."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Take it away."""
    run_sql_file(__file__, "down")
