"""Migrations of the tables: each a pair of SQL files, one up, one down."""

from .plan import HEAD, MigrationPlan, MigrationRevision, down_plan, revisions, up_plan
from .runner import DatabaseStatus, downgrade, status, upgrade

__all__ = [
    "HEAD",
    "DatabaseStatus",
    "MigrationPlan",
    "MigrationRevision",
    "down_plan",
    "downgrade",
    "revisions",
    "status",
    "up_plan",
    "upgrade",
]
