"""Decisions about links, seeds and settlement.

Values in, values out: no topics, no stores, no clock.
"""

from .admission import LinkAdmission, admit_links
from .dedup import AdmittedPage, LinkDeduplicator
from .link_batches import LinkBatches, LinkItem, LinkOrigin, SeedPosition
from .link_filter import LinkFilters
from .raw_backlog import Offsets, RawSeedBacklog
from .raw_seeds import DEFAULT_LIMITS, RawSeedLimits
from .redaction import redact_seed
from .refusal_events import RefusedSeed, link_refusals_event, seed_refusal_events
from .seeds import AcceptedSeed, ClosedRun, SeedRules, accept_seed, close_run, refuse_headers
from .settlement import LinkCounts, settle, settle_closed, settle_rejected, settle_undecodable
from .spec_rules import SpecRules, compile_rules, unknown_rules
from .traps import TrapDetector
from .undecodable_seeds import refuse_undecodable, url_in

__all__ = [
    "DEFAULT_LIMITS",
    "AcceptedSeed",
    "AdmittedPage",
    "ClosedRun",
    "LinkAdmission",
    "LinkBatches",
    "LinkCounts",
    "LinkDeduplicator",
    "LinkFilters",
    "LinkItem",
    "LinkOrigin",
    "Offsets",
    "RawSeedBacklog",
    "RawSeedLimits",
    "RefusedSeed",
    "SeedPosition",
    "SeedRules",
    "SpecRules",
    "TrapDetector",
    "accept_seed",
    "admit_links",
    "close_run",
    "compile_rules",
    "link_refusals_event",
    "redact_seed",
    "refuse_headers",
    "refuse_undecodable",
    "seed_refusal_events",
    "settle",
    "settle_closed",
    "settle_rejected",
    "settle_undecodable",
    "unknown_rules",
    "url_in",
]
