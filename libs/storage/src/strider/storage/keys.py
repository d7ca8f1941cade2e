"""Every Redis key of the house: who writes it, how it is spelt, how long it lives.

    strider:<entity>:{<id>}:<attribute>[:<part>…]

The id stands in braces, so that all keys of one entity share a cluster slot and one script may
touch them. What belongs to a job bears the job's id there: `strider:job:{<job id>}:…` is the
namespace that keeps jobs apart. Keys are built here and never taken apart; nothing scans for them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

_WORD: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_UNFIT: Final = re.compile(r"[{}\s\x00-\x1f\x7f]")


def is_valid_key_part(value: str) -> bool:
    """Say whether a value may stand in a key: no blank, no brace, and not empty."""
    return bool(value) and not _UNFIT.search(value)


@dataclass(frozen=True, slots=True)
class KeyFamily:
    """Keys of one kind. Call it with an id, and with the further parts that it declares."""

    owner: str
    """The one service that writes such keys; others may read."""
    entity: str
    attribute: str
    lifetime: timedelta | None
    """Set anew by each write. None: lives until its owner takes it away, and is counted as working set."""
    purpose: str
    parts: tuple[str, ...] = ()
    """Names of what follows the attribute."""

    def __post_init__(self) -> None:
        """Refuse words that break the grammar."""
        for word in (self.owner, self.entity, self.attribute, *self.parts):
            if not _WORD.fullmatch(word):
                raise ValueError(f"no word of a key: {word!r}")
        if self.lifetime is not None and self.lifetime < timedelta(seconds=1):
            raise ValueError(f"a lifetime of less than a second: {self.lifetime}")

    def __call__(self, entity_id: object, /, *parts: object) -> str:
        """Build one key."""
        if len(parts) != len(self.parts):
            raise ValueError(f"{self.pattern} takes {len(self.parts)} parts after the id, not {len(parts)}")
        values = [str(value) for value in (entity_id, *parts)]
        for value in values:
            if not is_valid_key_part(value):
                raise ValueError(f"does not fit into a key: {value!r}")
        tail = "".join(f":{value}" for value in values[1:])
        return f"strider:{self.entity}:{{{values[0]}}}:{self.attribute}{tail}"

    @property
    def pattern(self) -> str:
        """How keys of this kind look, for people: `strider:job:{<id>}:log`."""
        tail = "".join(f":<{part}>" for part in self.parts)
        return f"strider:{self.entity}:{{<id>}}:{self.attribute}{tail}"

    @property
    def lifetime_seconds(self) -> int:
        """Whole seconds for EXPIRE; 0 where nothing expires."""
        return int(self.lifetime.total_seconds()) if self.lifetime else 0


JOB_LOG: Final = KeyFamily(
    "runtime",
    "job",
    "log",
    timedelta(days=7),
    "Last lines of a job's log: a capped stream, oldest lines go first.",
)

FRONTIER_HEADER: Final = KeyFamily(
    "scheduler",
    "shard",
    "header",
    None,
    "Epoch, run id and state of a frontier shard, its counters, and what was answered last.",
)
FRONTIER_ENTRIES: Final = KeyFamily(
    "scheduler",
    "shard",
    "entries",
    None,
    "Open entries of a shard, by entry id.",
)
FRONTIER_GROUPS: Final = KeyFamily(
    "scheduler",
    "shard",
    "groups",
    None,
    "Clock, places and queue lengths of each group.",
)
FRONTIER_QUEUE: Final = KeyFamily(
    "scheduler",
    "shard",
    "queue",
    None,
    "Entries of a group that are due, by priority, oldest first.",
    ("priority", "group"),
)
FRONTIER_LATER: Final = KeyFamily(
    "scheduler",
    "shard",
    "later",
    None,
    "Entries that wait for their time.",
)
FRONTIER_DUE: Final = KeyFamily(
    "scheduler",
    "shard",
    "due",
    None,
    "Groups that may be served, by priority, longest waiting first.",
    ("priority",),
)
FRONTIER_LEASES: Final = KeyFamily(
    "scheduler",
    "shard",
    "leases",
    None,
    "Leases that are not concluded.",
)
FRONTIER_ENDS: Final = KeyFamily(
    "scheduler",
    "shard",
    "ends",
    None,
    "When leases run out.",
)
FRONTIER_EXPIRED: Final = KeyFamily(
    "scheduler",
    "shard",
    "expired",
    None,
    "Leases that ran out and are not concluded.",
)
FRONTIER_COUNTS: Final = KeyFamily(
    "scheduler",
    "shard",
    "counts",
    None,
    "Open and accepted entries of each execution.",
)
FRONTIER_NAMES: Final = KeyFamily(
    "scheduler",
    "shard",
    "names",
    None,
    "Numbers of what many entries share.",
)
FRONTIER_SHAPES: Final = KeyFamily(
    "scheduler",
    "shard",
    "shapes",
    None,
    "What those numbers stand for.",
)
FRONTIER_PARKED: Final = KeyFamily(
    "scheduler",
    "shard",
    "parked",
    None,
    "Numbers of entries that are only in the log: a set of integers for each bucket, by what they wait for.",
    ("kind", "bucket"),
)
FRONTIER_PARKED_SIZES: Final = KeyFamily(
    "scheduler",
    "shard",
    "parked-sizes",
    None,
    "Members and buckets of what is parked.",
)
FRONTIER_SEEN: Final = KeyFamily(
    "scheduler",
    "shard",
    "seen",
    timedelta(days=14),
    "Fingerprints of one bucket of a seen scope, in one generation: a set of integers.",
    ("generation", "scope", "bucket"),
)
FRONTIER_SEEN_SIZES: Final = KeyFamily(
    "scheduler",
    "shard",
    "seen-sizes",
    timedelta(days=14),
    "Members and buckets of each seen scope, in one generation.",
    ("generation",),
)
FRONTIER_SEEN_TOKENS: Final = KeyFamily(
    "scheduler",
    "shard",
    "seen-tokens",
    timedelta(days=14),
    "Which seed opened an entry last, in one generation.",
    ("generation",),
)
"""The frontier's scripts spell these themselves, beginning at the header's key; a test holds both together.
What was seen lives for twice the age of a generation (7 days by default), from the generation's beginning."""

WORKER_HEARTBEAT: Final = KeyFamily(
    "fetcher",
    "worker",
    "heartbeat",
    timedelta(minutes=2),
    "When a fetcher was last heard of, what it does, and one URL that it has in hand.",
)
COOKIES: Final = KeyFamily(
    "fetcher",
    "jar",
    "cookies",
    timedelta(days=7),
    "Cookies of a run for one registrable domain, a field each; lives for a week after the last change.",
    ("domain",),
)
FETCHER_WORKERS: Final = KeyFamily(
    "fetcher",
    "service",
    "workers",
    None,
    "Fetchers that were heard of within two minutes, by when.",
)
FETCHER_STATS: Final = KeyFamily(
    "fetcher",
    "service",
    "stats",
    None,
    "Pages crawled, pages failed, bytes downloaded, by all fetchers since the store was empty.",
)

FUNCTION_LIBRARIES: Final = KeyFamily(
    "scheduler",
    "scripts",
    "libraries",
    None,
    "When each library of functions was last spoken for: a sorted set, names by seconds of Redis' clock.",
)

KEY_FAMILIES: Final = (
    JOB_LOG,
    FUNCTION_LIBRARIES,
    COOKIES,
    WORKER_HEARTBEAT,
    FETCHER_WORKERS,
    FETCHER_STATS,
    FRONTIER_HEADER,
    FRONTIER_ENTRIES,
    FRONTIER_GROUPS,
    FRONTIER_QUEUE,
    FRONTIER_LATER,
    FRONTIER_DUE,
    FRONTIER_LEASES,
    FRONTIER_ENDS,
    FRONTIER_EXPIRED,
    FRONTIER_COUNTS,
    FRONTIER_NAMES,
    FRONTIER_SHAPES,
    FRONTIER_PARKED,
    FRONTIER_PARKED_SIZES,
    FRONTIER_SEEN,
    FRONTIER_SEEN_SIZES,
    FRONTIER_SEEN_TOKENS,
)
"""All of them; a test of the repository finds each one documented."""
