"""products: what pages offer, one row for each product of a job."""

from strider.stores.migrations.sql_files import run_beside

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the table and the view of its pictures."""
    run_beside(__file__, "up")


def downgrade() -> None:
    """Take them away."""
    run_beside(__file__, "down")
