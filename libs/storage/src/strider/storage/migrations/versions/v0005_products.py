"""products: products of pages, one row for each product of a job."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the table and the view of its images."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Drop them."""
    run_sql_file(__file__, "down")
