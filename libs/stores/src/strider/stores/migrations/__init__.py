"""The tables, step by step: each a pair of SQL files, one up, one down."""

from .plan import HEAD, Plan, Revision, down_plan, revisions, up_plan
from .runner import DatabaseStatus, downgrade, status, upgrade

__all__ = [
    "HEAD",
    "DatabaseStatus",
    "Plan",
    "Revision",
    "down_plan",
    "downgrade",
    "revisions",
    "status",
    "up_plan",
    "upgrade",
]
