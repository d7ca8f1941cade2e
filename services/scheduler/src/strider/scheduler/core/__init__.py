"""What is fetched next, and when: every decision of the scheduler, each in a file of its own. Pure."""

from .acceptance import Admission, Past, Refusal, admit, refusal
from .account import Fetch
from .allowance import Allowance, AllowanceBook, Amount
from .budget import Answer, Bid, Budgets, Grant
from .candidates import Candidate, Origin, candidates, group_of
from .claims import Owner
from .completion import Completion, Look, Proof, ShardCount
from .decisions import Line, messages, refused
from .entries import Fate, accepted, fate_of
from .groups import (
    Group,
    group_of_record,
    group_record,
    has_tripped,
    hear,
    new_group,
    with_robots,
    with_spec,
)
from .orders import FOR_EVER_MS, NO_BAR, Bar, Order, Orders, Standing
from .outcomes import Circumstances, Ended, ended, tried
from .release import Step, Surroundings, Turn, obey, turn, within_budget
from .requests import Licence, fetch_request
from .robots import (
    NO_RULES,
    ROBOTS_JOB,
    Rules,
    asked_of,
    known_of_record,
    robots_entry,
    robots_record,
    rules_of,
)
from .settling import settle
from .sources import Manners, Sources

__all__ = [
    "FOR_EVER_MS",
    "NO_BAR",
    "NO_RULES",
    "ROBOTS_JOB",
    "Admission",
    "Allowance",
    "AllowanceBook",
    "Amount",
    "Answer",
    "Bar",
    "Bid",
    "Budgets",
    "Candidate",
    "Circumstances",
    "Completion",
    "Ended",
    "Fate",
    "Fetch",
    "Grant",
    "Group",
    "Licence",
    "Line",
    "Look",
    "Manners",
    "Order",
    "Orders",
    "Origin",
    "Owner",
    "Past",
    "Proof",
    "Refusal",
    "Rules",
    "ShardCount",
    "Sources",
    "Standing",
    "Step",
    "Surroundings",
    "Turn",
    "accepted",
    "admit",
    "asked_of",
    "candidates",
    "ended",
    "fate_of",
    "fetch_request",
    "group_of",
    "group_of_record",
    "group_record",
    "has_tripped",
    "hear",
    "known_of_record",
    "messages",
    "new_group",
    "obey",
    "refusal",
    "refused",
    "robots_entry",
    "robots_record",
    "rules_of",
    "settle",
    "tried",
    "turn",
    "with_robots",
    "with_spec",
    "within_budget",
]
