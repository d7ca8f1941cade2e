"""Routes of jobs: records, commands, executions, and the schedule of all of them."""

from __future__ import annotations

from .commands import RunCommands, command_routes, job_deletion_routes
from .executions import execution_routes
from .problems import install_job_problems
from .records import JobRules, job_routes
from .schedule import schedule_routes

__all__ = [
    "JobRules",
    "RunCommands",
    "command_routes",
    "execution_routes",
    "install_job_problems",
    "job_deletion_routes",
    "job_routes",
    "schedule_routes",
]
