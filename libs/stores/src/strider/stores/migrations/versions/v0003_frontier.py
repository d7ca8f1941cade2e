"""urls, hosts: where every URL of the frontier stands, and how its host does."""

from strider.stores.migrations.sql_files import run_beside

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables."""
    run_beside(__file__, "up")


def downgrade() -> None:
    """Take them away."""
    run_beside(__file__, "down")
