"""urls, hosts: state of every URL of the frontier and of its host."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the tables."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Drop them."""
    run_sql_file(__file__, "down")
