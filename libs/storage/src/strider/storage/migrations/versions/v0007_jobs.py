"""jobs, job_executions, sources: the record of jobs, of their executions and of sources."""

from strider.storage.migrations.sql_files import run_sql_file

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the tables."""
    run_sql_file(__file__, "up")


def downgrade() -> None:
    """Drop them."""
    run_sql_file(__file__, "down")
