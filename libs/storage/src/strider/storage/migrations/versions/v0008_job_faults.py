"""deleted_jobs; who paused a job, and how often a run was launched again."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create the table, the columns and a wider index."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Drop them."""
    run_sql_file(__file__, "down")
