"""deleted_jobs, and columns of jobs and job_executions: numbers that are over, pauses, launches."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create the table, the columns and a wider index."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Drop them."""
    run_sql_file(__file__, "down")
