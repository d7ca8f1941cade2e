"""Migrations of the tables: each a pair of SQL files, one up, one down."""

from .plan import HEAD, MigrationPlan, down_plan, revision_position, revisions, up_plan
from .runner import DatabaseStatus, downgrade, status, upgrade

__all__ = [
    "HEAD",
    "DatabaseStatus",
    "MigrationPlan",
    "down_plan",
    "downgrade",
    "revision_position",
    "revisions",
    "status",
    "up_plan",
    "upgrade",
]
