"""What robots.txt says to a URL, from what is known of its origin; and its record in the log.

The rules are `politeness.robots`'s, what holds while there are none `politeness.robots_state`'s. Here
they meet an entry: which origin it is asked of, in whose name, and how long it waits for an answer.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import (
    DecisionReason,
    EntryReason,
    EntryState,
    HostRecordKind,
    RequestKind,
    RobotsState,
)
from strider.contracts.generated.events import (
    CrawlSpecDeclared,
    EntryRecorded,
    FetchCompleted,
    HostRecorded,
)
from strider.politeness.robots.freshness import OriginRobots, RobotsResponse, RobotsStatus, classify_outcome
from strider.politeness.robots.robots_txt import RobotsTxt, product_token, truncate_robots
from strider.urls import origin_of, url_hash, url_key_of

ROBOTS_PATH: Final = "/robots.txt"

ROBOTS_JOB: Final = ".robots"
"""Job of the requests for robots.txt within the working set, so that none is taken for a page of that URL."""


@fast_dataclass(frozen=True, slots=True)
class CachedRobots:
    """An origin's robots.txt as it is kept in memory: what is known, and its text read."""

    origin_state: OriginRobots
    rules: RobotsTxt

    @property
    def memory_cost(self) -> int:
        """What it takes of the memory for rules, in characters."""
        return len(self.origin_state.text) + _FIXED_COST


_FIXED_COST: Final = 500

NO_ROBOTS: Final = CachedRobots(OriginRobots(), RobotsTxt(""))


def rules_of(origin_state: OriginRobots) -> CachedRobots:
    """Read the text of what is known."""
    return (
        CachedRobots(origin_state, RobotsTxt(origin_state.text))
        if origin_state.text
        else CachedRobots(origin_state, NO_ROBOTS.rules)
    )


@fast_dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """Whether an entry may be asked for now."""

    decision: RobotsStatus
    """OBEY stands for a denial, ALLOW for a permission."""
    again_at_ms: int = 0
    """When to look again, where it has to wait."""
    reason: DecisionReason | None = None
    """Why it is to be closed."""


ALLOWED: Final = RobotsVerdict(RobotsStatus.ALLOW_ALL)
FETCH_ROBOTS_FIRST: Final = RobotsVerdict(RobotsStatus.FETCH_FIRST)


def check_robots(  # noqa: PLR0911  # one a standing
    entry: EntryRecorded,
    spec: CrawlSpecDeclared,
    robots: CachedRobots,
    *,
    user_agent: str,
    now_ms: int,
    respects_robots: bool = True,
) -> RobotsVerdict:
    """Say whether robots.txt lets an entry be asked for; `agent` is the configured User-Agent."""
    if not (spec.respect_robots and respects_robots):
        return ALLOWED
    known = robots.origin_state
    standing = known.status_at(now_ms)
    if standing is RobotsStatus.ALLOW_ALL:
        return ALLOWED
    if standing is RobotsStatus.APPLY_RULES:
        token = product_token(spec.user_agent or user_agent)
        if robots.rules.allows(entry.url, token):
            return ALLOWED
        return RobotsVerdict(RobotsStatus.APPLY_RULES, reason=DecisionReason.ROBOTS_DENIED)
    if standing is RobotsStatus.NO_SUCH_HOST:
        return RobotsVerdict(standing, reason=DecisionReason.HOST_UNAVAILABLE)
    if standing is RobotsStatus.FORBIDDEN:
        return RobotsVerdict(standing, reason=DecisionReason.POLICY_BLOCKED)
    return _patient(entry, spec, known, now_ms=now_ms)


def _patient(
    entry: EntryRecorded, spec: CrawlSpecDeclared, known: OriginRobots, *, now_ms: int
) -> RobotsVerdict:
    """Ask or wait, but not for ever; what came later has its own patience."""
    if not known.unreachable_since_ms:
        return FETCH_ROBOTS_FIRST
    since_ms = max(known.unreachable_since_ms, entry.discovered_at_ms)
    ends_at_ms = since_ms + spec.host_patience_seconds * 1000
    if now_ms >= known.expires_at_ms:
        return FETCH_ROBOTS_FIRST
    if known.expires_at_ms < ends_at_ms:
        return RobotsVerdict(RobotsStatus.UNREACHABLE, again_at_ms=known.expires_at_ms)
    # Nobody is asked before its patience ends: what is known then is known now.
    reason = DecisionReason.ROBOTS_UNREACHABLE if known.status else DecisionReason.HOST_UNAVAILABLE
    return RobotsVerdict(RobotsStatus.UNREACHABLE, reason=reason)


def robots_request_entry(entry: EntryRecorded) -> EntryRecorded:
    """Make the request that goes before an entry. It is no entry of any job, and never recorded."""
    url = origin_of(entry.url) + ROBOTS_PATH
    return EntryRecorded(
        job_id=ROBOTS_JOB,
        url_key=url_hash(url_key_of(url)),
        url=url,
        group=entry.group,
        state=EntryState.PENDING,
        execution_id=entry.execution_id,
        crawl_spec_id=entry.crawl_spec_id,
        fetch_sequence=0,
        updated_at_ms=entry.updated_at_ms,
        reason=EntryReason.WAITS_FOR_ROBOTS,
        kind=RequestKind.ROBOTS,
        priority=entry.priority,
        metadata={REQUESTING_JOB: entry.job_id},
    )


REQUESTING_JOB: Final = "job"
"""Where a request for a robots.txt keeps on whose behalf it is made."""


def robots_fetch_result(outcome: FetchCompleted) -> RobotsResponse:
    """Read the outcome of a request for a robots.txt."""
    answer = classify_outcome(
        outcome.outcome, error_class=outcome.error_class, has_redirected=outcome.robots_hops > 0
    )
    return RobotsResponse(
        answer,
        outcome.fetch_sequence,
        text=truncate_robots(outcome.robots_text, is_part=outcome.robots_truncated),
        status=outcome.status,
        url=outcome.robots_url or outcome.url,
        error_class=outcome.error_class,
    )


def robots_to_record(
    origin_name: str, group: str, robots: CachedRobots, *, user_agent: str, now_ms: int, epoch: int
) -> HostRecorded:
    """Write down what is known of an origin."""
    known = robots.origin_state
    return HostRecorded(
        kind=HostRecordKind.ROBOTS,
        group=group,
        updated_at_ms=now_ms,
        origin=origin_name,
        robots_delay_seconds=robots.rules.delay_seconds(product_token(user_agent)),
        unreachable_since_ms=known.unreachable_since_ms,
        last_error_class=known.error_class,
        robots_state=known.state,
        robots_text=known.text,
        robots_hash=sha256(known.text.encode("utf-8", "replace")).hexdigest() if known.text else "",
        robots_status=known.status,
        robots_url=known.url,
        robots_asked_at_ms=known.requested_at_ms,
        robots_fetched_at_ms=known.fetched_at_ms,
        robots_expires_at_ms=known.expires_at_ms,
        robots_failures=known.failures,
        sitemap_urls=_sitemaps(robots.rules),
        epoch=epoch,
    )


def robots_from_record(record: HostRecorded) -> OriginRobots:
    """Read it again."""
    return OriginRobots(
        state=RobotsState(record.robots_state),
        text=record.robots_text,
        requested_at_ms=record.robots_asked_at_ms,
        fetched_at_ms=record.robots_fetched_at_ms,
        expires_at_ms=record.robots_expires_at_ms,
        failures=record.robots_failures,
        unreachable_since_ms=record.unreachable_since_ms,
        status=record.robots_status,
        url=record.robots_url,
        error_class=record.last_error_class,
    )


def _sitemaps(robots: RobotsTxt) -> tuple[str, ...]:
    """Name as many as a record has room for; they stand in the text as well."""
    kept: list[str] = []
    room = _MAX_SITEMAP_CHARACTERS
    for url in robots.sitemaps:
        room -= len(url)
        if room < 0:
            break
        kept.append(url)
    return tuple(kept)


_MAX_SITEMAP_CHARACTERS: Final = 1_000


def ended_robots_entry(outcome: FetchCompleted) -> EntryRecorded:
    """Name the request that has ended, as the working set knows it."""
    return EntryRecorded(
        job_id=ROBOTS_JOB,
        url_key=outcome.url_key,
        url=outcome.url,
        group=outcome.group,
        state=EntryState.COMPLETED,
        execution_id=outcome.execution_id,
        crawl_spec_id=outcome.crawl_spec_id,
        fetch_sequence=outcome.fetch_sequence,
        updated_at_ms=outcome.completed_at_ms,
        kind=RequestKind.ROBOTS,
    )
