"""Every Redis key: its owner, its grammar and its lifetime.

    strider:<entity>:{<id>}:<attribute>[:<part>…]

or, where a form was given from outside, that form.

The id stands in braces, so that all keys of one entity share a cluster slot and one script may
touch them. Keys of a job contain the job's id there: `strider:job:{<job id>}:…` is the namespace
that separates jobs. Keys are built here and never parsed; nothing scans for them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

_WORD: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_FORBIDDEN_ERRORS: Final = re.compile(r"[{}\s\x00-\x1f\x7f]")


def is_valid_key_part(value: str) -> bool:
    """Return whether a value may be part of a key: no blank, no brace, and not empty."""
    return bool(value) and not _FORBIDDEN_ERRORS.search(value)


@dataclass(frozen=True, slots=True)
class KeyFamily:
    """Keys of one kind. Call it with an id and the further parts that it declares."""

    owner: str
    """The one service that writes such keys; others may read."""
    entity: str
    attribute: str
    lifetime: timedelta | None
    """Renewed by each write. None: lives until its owner deletes it, and counts as working set."""
    purpose: str
    parts: tuple[str, ...] = ()
    """Names of the parts after the attribute."""
    given_form: str = ""
    """The key as other systems know it, with `{id}` for the id, in place of the grammar above."""

    def __post_init__(self) -> None:
        """Refuse parts that break the grammar."""
        for word in (self.owner, self.entity, self.attribute, *self.parts):
            if not _WORD.fullmatch(word):
                raise ValueError(f"invalid part of a key family: {word!r}")
        if self.lifetime is not None and self.lifetime < timedelta(seconds=1):
            raise ValueError(f"the lifetime of a key must be at least a second, not {self.lifetime}")

    def __call__(self, entity_id: object, /, *parts: object) -> str:
        """Return one key."""
        if len(parts) != len(self.parts):
            raise ValueError(f"{self.pattern} takes {len(self.parts)} parts after the id, not {len(parts)}")
        values = [str(value) for value in (entity_id, *parts)]
        for value in values:
            if not is_valid_key_part(value):
                raise ValueError(f"a key must not contain blanks or braces, nor be empty: {value!r}")
        if self.given_form:
            return self.given_form.replace("{id}", values[0])
        tail = "".join(f":{value}" for value in values[1:])
        return f"strider:{self.entity}:{{{values[0]}}}:{self.attribute}{tail}"

    @property
    def pattern(self) -> str:
        """Pattern of such keys, for documentation: `strider:run:{<id>}:log`."""
        if self.given_form:
            return self.given_form.replace("{id}", "<id>")
        tail = "".join(f":<{part}>" for part in self.parts)
        return f"strider:{self.entity}:{{<id>}}:{self.attribute}{tail}"

    @property
    def lifetime_seconds(self) -> int:
        """Whole seconds for EXPIRE; 0 where nothing expires."""
        return int(self.lifetime.total_seconds()) if self.lifetime else 0


RUN_LOG: Final = KeyFamily(
    "runtime",
    "run",
    "log",
    timedelta(days=7),
    "Last lines of a run's log: a capped stream, oldest lines are dropped first; an hour after the archive.",
)
RECENT_LOG: Final = KeyFamily(
    "runtime",
    "service",
    "recent-log",
    timedelta(days=7),
    "Last lines of all runs of owners: a capped stream.",
)
JOB_LOG_RUNS: Final = KeyFamily(
    "runtime",
    "job",
    "log-runs",
    timedelta(days=31),
    "Last runs of a job that have a log, by the time of their first line.",
)
RUN_LOGS_OPEN: Final = KeyFamily(
    "runtime",
    "service",
    "run-logs-open",
    timedelta(days=7),
    "Runs with a log that has no end yet, by the time of its last line.",
)
RUN_LOGS_ENDED: Final = KeyFamily(
    "runtime",
    "service",
    "run-logs-ended",
    timedelta(days=7),
    "Runs whose log has ended, by the time at which it expires.",
)
RUN_LOG_BYTES: Final = KeyFamily(
    "runtime",
    "service",
    "run-log-bytes",
    timedelta(days=7),
    "Bytes of each run's log, and of all of them.",
)

FRONTIER_HEADER: Final = KeyFamily(
    "scheduler",
    "shard",
    "header",
    None,
    "Epoch, run id and state of a frontier shard, its counters, and its last replies.",
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
    "Clock, request limit and queue lengths of each host group.",
)
FRONTIER_QUEUE: Final = KeyFamily(
    "scheduler",
    "shard",
    "queue",
    None,
    "Due entries of a host group, by priority, oldest first.",
    ("priority", "group"),
)
FRONTIER_LATER: Final = KeyFamily(
    "scheduler",
    "shard",
    "later",
    None,
    "Entries delayed until they are due.",
)
FRONTIER_DUE: Final = KeyFamily(
    "scheduler",
    "shard",
    "due",
    None,
    "Host groups that may be served, by priority, longest waiting first.",
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
    "When leases expire.",
)
FRONTIER_EXPIRED: Final = KeyFamily(
    "scheduler",
    "shard",
    "expired",
    None,
    "Leases that expired and are not concluded.",
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
    "Numbers of values that many entries share.",
)
FRONTIER_SHAPES: Final = KeyFamily(
    "scheduler",
    "shard",
    "shapes",
    None,
    "Values of those numbers.",
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
    "Members and buckets of the parked sets.",
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
    "Token of the seed that opened an entry last, in one generation.",
    ("generation",),
)
"""The frontier's functions build these keys themselves, from the header's key; a test compares both. Seen
URLs live for twice the age of a generation (7 days by default), from the generation's beginning.
"""

WORKER_HEARTBEAT: Final = KeyFamily(
    "fetcher",
    "worker",
    "heartbeat",
    timedelta(minutes=2),
    "Last heartbeat of a fetcher, its status, and one URL in flight.",
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
    "Fetchers with a heartbeat within two minutes, by its time.",
)
FETCHER_STATS: Final = KeyFamily(
    "fetcher",
    "service",
    "stats",
    None,
    "Pages crawled, pages failed, bytes downloaded, by all fetchers since the store was empty.",
)

IDEMPOTENCY_RECORD: Final = KeyFamily(
    "api",
    "idempotency",
    "record",
    timedelta(hours=24),
    "A request with an Idempotency-Key and its response, by caller, route and key; a minute in progress.",
)

SESSION_RECORD: Final = KeyFamily(
    "api",
    "session",
    "record",
    timedelta(hours=24),
    "A session of a browser: caller, role, beginning and end; shorter where its token ends before.",
    given_form="session:{id}",
)

FUNCTION_LIBRARIES: Final = KeyFamily(
    "scheduler",
    "scripts",
    "libraries",
    None,
    "Last use of each function library: a sorted set, names by seconds of the server's clock.",
)

ADAPTIVE_STATE: Final = KeyFamily(
    "scheduler",
    "adaptive",
    "state",
    None,
    "Adaptive interval of a source, as the topic adaptive-state has it: a hash for dashboards.",
    given_form="crawler:adaptive:{id}",
)
ADAPTIVE_COPIES: Final = KeyFamily(
    "scheduler",
    "shard",
    "adaptive-copies",
    None,
    "Present as long as the states of all sources of a shard are in Redis.",
)

KEY_FAMILIES: Final = (
    RUN_LOG,
    RECENT_LOG,
    JOB_LOG_RUNS,
    RUN_LOGS_OPEN,
    RUN_LOGS_ENDED,
    RUN_LOG_BYTES,
    IDEMPOTENCY_RECORD,
    SESSION_RECORD,
    FUNCTION_LIBRARIES,
    ADAPTIVE_STATE,
    ADAPTIVE_COPIES,
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
"""All key families; a test of the repository finds each one documented."""
