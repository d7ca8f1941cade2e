"""What is fetched next, and when: every decision of the scheduler, each in a file of its own. Pure."""

from .budgets.claims import ShardOwner
from .budgets.limits import BudgetAmount, BudgetLimits, BudgetLimitsCache
from .budgets.reservations import ReservationRequest, ReservationResult, ReservationStatus, RunBudgets
from .budgets.usage import BudgetedFetch
from .entries.acceptance import Admission, PriorState, Refusal, admit, refuse_candidate
from .entries.candidates import Candidate, Origin, candidates, group_of
from .entries.fetch_outcomes import EntryTransition, OutcomeContext, apply_fetch_outcome, retry_or_close
from .entries.settlement import apply_settlement
from .entries.state import Fate, disposition_of, open_entry
from .entries.url_decisions import UrlDecision, decision_messages, refused_decision
from .hosts.host_state import (
    HostGroup,
    apply_crawl_spec,
    apply_robots_delay,
    has_breaker_tripped,
    hear,
    host_group_from_record,
    host_group_to_record,
    new_host_group,
)
from .hosts.overrides import Manners, SourceOverrides
from .hosts.robots import (
    NO_ROBOTS,
    ROBOTS_JOB,
    CachedRobots,
    robots_fetch_result,
    robots_from_record,
    robots_request_entry,
    robots_to_record,
    rules_of,
)
from .release.decision import ReleaseContext, Step, Turn, apply_budget, apply_run_state, decide_release
from .release.fetch_request import RequestLease, fetch_request
from .runs.completion import CompletionObservation, CompletionPhase, CompletionProof, ShardRunCount
from .runs.control import FOREVER_MS, NO_BLOCK, ManualBlock, RunControl, RunDirective, Standing

__all__ = [
    "FOR_EVER_MS",
    "NO_BAR",
    "NO_RULES",
    "ROBOTS_JOB",
    "Admission",
    "Allowance",
    "AllowanceBook",
    "Amount",
    "Bar",
    "Bid",
    "Budgets",
    "CachedRobots",
    "Candidate",
    "Circumstances",
    "Completion",
    "EntryTransition",
    "Fate",
    "Fetch",
    "Grant",
    "HostGroup",
    "Licence",
    "Look",
    "Manners",
    "Orders",
    "Origin",
    "Owner",
    "Past",
    "Proof",
    "Refusal",
    "ReservationResult",
    "RunDirective",
    "ShardCount",
    "Sources",
    "Standing",
    "Step",
    "Surroundings",
    "Turn",
    "UrlDecision",
    "admit",
    "apply_fetch_outcome",
    "apply_settlement",
    "asked_of",
    "candidates",
    "decide_release",
    "decision_messages",
    "fate_of",
    "fetch_request",
    "group_of",
    "group_of_record",
    "group_record",
    "has_tripped",
    "hear",
    "known_of_record",
    "new_group",
    "obey",
    "open_entry",
    "refuse_candidate",
    "refused_decision",
    "retry_or_close",
    "robots_entry",
    "robots_record",
    "rules_of",
    "with_robots",
    "with_spec",
    "within_budget",
]
