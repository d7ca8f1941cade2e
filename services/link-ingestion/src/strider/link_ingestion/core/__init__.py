"""Which links and seeds are worth the frontier, whose shard they are, and when a page has gone round.

Values in, values out: no topics, no stores, no clock.
"""

from .admission import Admission, Candidates, Refusals, admit
from .decisions import RefusedSeed, decide_links, decide_seeds
from .ground import Ground, Grounds
from .parcels import Item, Origin, Parcels, Place
from .rules import Rules, rules_of, unknown_rules
from .seeds import Sown, sow
from .settlement import LinkCounts, settle, settle_closed, settle_rejected, settle_unread
from .sifting import Sieve, Visit
from .unread import refuse_unread, url_in

__all__ = [
    "Admission",
    "Candidates",
    "Ground",
    "Grounds",
    "Item",
    "LinkCounts",
    "Origin",
    "Parcels",
    "Place",
    "Refusals",
    "RefusedSeed",
    "Rules",
    "Sieve",
    "Sown",
    "Visit",
    "admit",
    "decide_links",
    "decide_seeds",
    "refuse_unread",
    "rules_of",
    "settle",
    "settle_closed",
    "settle_rejected",
    "settle_unread",
    "sow",
    "unknown_rules",
    "url_in",
]
