"""urls, hosts: where every URL of the frontier stands, and how its host does."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Take them away."""
    run_sql_file(__file__, "down")
