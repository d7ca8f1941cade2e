"""Topics on the broker: what is declared, what is there, and making the one equal the other."""

from .applying import Report, apply_topics, compare_topics
from .plans import Alteration, Declared, Found, Plan, RefusedChange, choose_topics, declare, make_plan

__all__ = [
    "Alteration",
    "Declared",
    "Found",
    "Plan",
    "RefusedChange",
    "Report",
    "apply_topics",
    "choose_topics",
    "compare_topics",
    "declare",
    "make_plan",
]
