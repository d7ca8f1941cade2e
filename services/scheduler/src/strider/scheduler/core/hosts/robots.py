"""Check an entry against robots.txt: a URL is denied by `check_robots`.

The rules are those of `strider.politeness.robots.robots_txt`; their freshness is decided by
`strider.politeness.robots.freshness`. Decided here, for one entry: the origin whose robots.txt applies, the
user agent that its rules are matched with, how long the entry waits for a robots.txt that cannot be fetched,
and the reason and detail of its decision after that. `core/release/decision.py` acts on the verdict. Knows
neither leases nor topics.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass, replace_fields
from strider.contracts.generated.enums import (
    DecisionReason,
    EntryReason,
    EntryState,
    ErrorClass,
    FetchOutcome,
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
from strider.politeness.robots.excerpt import MAX_EXCERPT_BYTES, excerpt_robots
from strider.politeness.robots.freshness import (
    OriginRobots,
    RobotsFetchResult,
    RobotsResponse,
    RobotsStatus,
    classify_outcome,
)
from strider.politeness.robots.robots_txt import RobotsTxt, product_token, truncate_robots
from strider.urls import origin_of, url_hash, url_key_of

ROBOTS_PATH: Final = "/robots.txt"

ROBOTS_JOB: Final = ".robots"
"""Job of robots.txt requests in the working set, so that none is mistaken for a page of the same URL."""

REQUESTING_JOB: Final = "job"
"""Metadata key of a robots.txt request: the job on whose behalf it is made."""

_FIXED_COST: Final = 500
"""Memory of an origin without any text, in characters."""

_MAX_SITEMAP_CHARACTERS: Final = 1_000
"""Characters of sitemap URLs in one record."""

_STATUS_ERRORS: Final = frozenset({ErrorClass.STATUS_CLIENT, ErrorClass.STATUS_SERVER})
"""Error classes that add nothing to the status."""


@fast_dataclass(frozen=True, slots=True)
class CachedRobots:
    """The robots.txt of one origin as kept in memory: its state, and its parsed rules."""

    origin_state: OriginRobots
    rules: RobotsTxt

    @property
    def memory_cost(self) -> int:
        """Memory that it takes, in characters."""
        return len(self.origin_state.text) + _FIXED_COST


NO_ROBOTS: Final = CachedRobots(OriginRobots(), RobotsTxt(""))


def parse_robots(origin_state: OriginRobots) -> CachedRobots:
    """Parse the text of an origin's robots.txt."""
    return (
        CachedRobots(origin_state, RobotsTxt(origin_state.text))
        if origin_state.text
        else CachedRobots(origin_state, NO_ROBOTS.rules)
    )


class RobotsDecision(StrEnum):
    """Decision about one entry by the robots.txt of its origin."""

    ALLOWED = "allowed"
    DENIED = "denied"
    """A rule of the robots.txt forbids the URL: the entry is closed as `robots_denied`."""
    FETCH_FIRST = "fetch_first"
    """The robots.txt is unknown or has expired: fetch it before the entry."""
    WAIT = "wait"
    """The robots.txt cannot be fetched now: nothing of the origin is allowed until it is tried again."""
    UNREACHABLE = "unreachable"
    """The robots.txt could not be fetched for as long as the crawl spec waits: the entry is closed."""
    HOST_GONE = "host_gone"
    """The host does not exist: the entry is closed."""
    FORBIDDEN = "forbidden"
    """Our own address policy forbids any request to the host: the entry is closed."""


@fast_dataclass(frozen=True, slots=True)
class EntryRobotsVerdict:
    """Decision of `check_robots`, with what its caller needs to act on it."""

    decision: RobotsDecision
    again_at_ms: int = 0
    """When to check again, where the entry has to wait."""
    reason: DecisionReason | None = None
    """Why the entry is closed; None where it is not."""
    detail: str = ""
    """Detail of that decision."""


ALLOWED: Final = EntryRobotsVerdict(RobotsDecision.ALLOWED)
FETCH_ROBOTS_FIRST: Final = EntryRobotsVerdict(RobotsDecision.FETCH_FIRST)


def check_robots(
    entry: EntryRecorded,
    spec: CrawlSpecDeclared,
    robots: CachedRobots,
    *,
    user_agent: str,
    now_ms: int,
    respects_robots: bool = True,
) -> EntryRobotsVerdict:
    """Return whether robots.txt allows an entry; a URL that a rule forbids is DENIED here.

    `user_agent` is the configured one, for specs without their own; `respects_robots` is the deployment's.
    """
    if not (spec.respect_robots and respects_robots):
        return ALLOWED
    origin_state = robots.origin_state
    standing = origin_state.status_at(now_ms)
    if standing is RobotsStatus.APPLY_RULES:
        token = product_token(spec.user_agent or user_agent)
        denial = robots.rules.denial(entry.url, token)
        return ALLOWED if denial is None else denied_verdict(denial.rule)
    if standing is RobotsStatus.ALLOW_ALL:
        return ALLOWED
    if standing is RobotsStatus.FORBIDDEN:
        return EntryRobotsVerdict(
            RobotsDecision.FORBIDDEN, reason=DecisionReason.POLICY_BLOCKED, detail=origin_state.error_class
        )
    if standing is RobotsStatus.NO_SUCH_HOST:
        return unreachable_verdict(entry, origin_state, RobotsDecision.HOST_GONE)
    return _wait_or_give_up(entry, spec, origin_state, now_ms=now_ms)


def denied_verdict(rule: str) -> EntryRobotsVerdict:
    """Return the verdict that a rule forbids an entry.

    The number of its line is left out: of a long file only an excerpt is known, which counts otherwise.
    """
    return EntryRobotsVerdict(RobotsDecision.DENIED, reason=DecisionReason.ROBOTS_DENIED, detail=rule)


def _wait_or_give_up(
    entry: EntryRecorded, spec: CrawlSpecDeclared, origin_state: OriginRobots, *, now_ms: int
) -> EntryRobotsVerdict:
    """Fetch the robots.txt or wait for it, for at most the time that the spec waits for a host.

    The time counts from the entry's own discovery, where that is later than the first failure.
    """
    if not origin_state.unreachable_since_ms or now_ms >= origin_state.expires_at_ms:
        return FETCH_ROBOTS_FIRST
    since_ms = max(origin_state.unreachable_since_ms, entry.discovered_at_ms)
    ends_at_ms = since_ms + spec.host_patience_seconds * 1000
    if origin_state.expires_at_ms < ends_at_ms:
        return EntryRobotsVerdict(RobotsDecision.WAIT, again_at_ms=origin_state.expires_at_ms)
    # There is no other try before the time is over, so the result is known now.
    return unreachable_verdict(entry, origin_state)


def is_unreachable(
    spec: CrawlSpecDeclared, origin_state: OriginRobots, *, respects_robots: bool = True
) -> bool:
    """Whether entries of the spec wait for a robots.txt that could not be fetched when it was requested."""
    return spec.respect_robots and respects_robots and origin_state.state is RobotsState.UNREACHABLE


def unreachable_verdict(
    entry: EntryRecorded,
    origin_state: OriginRobots,
    decision: RobotsDecision = RobotsDecision.UNREACHABLE,
) -> EntryRobotsVerdict:
    """Return the verdict that an entry is closed because its robots.txt cannot be fetched.

    A host that has sent a status is available: only its robots.txt is not.
    """
    has_responded = decision is RobotsDecision.UNREACHABLE and origin_state.status > 0
    reason = DecisionReason.ROBOTS_UNREACHABLE if has_responded else DecisionReason.HOST_UNAVAILABLE
    return EntryRobotsVerdict(
        decision, reason=reason, detail=unreachable_text(origin_of(entry.url), origin_state)
    )


def unreachable_text(origin: str, origin_state: OriginRobots) -> str:
    """Return which robots.txt is unreachable, its last status or error, and when it was requested last."""
    parts = [response_text(origin_state)]
    if origin_state.requested_at_ms:
        parts.append(f"last requested {_utc_text(origin_state.requested_at_ms)}")
    if origin_state.unreachable_since_ms:
        parts.append(f"unreachable since {_utc_text(origin_state.unreachable_since_ms)}")
    return f"robots.txt of {origin}: {', '.join(parts)}"


def response_text(origin_state: OriginRobots) -> str:
    """Return the last status or error class of an unreachable robots.txt, or both."""
    status, error = origin_state.status, origin_state.error_class
    if error == ErrorClass.ROBOTS_REDIRECTED:
        return f"status {status}, redirected to {origin_state.url}"
    if not status:
        return error or "no outcome"
    return f"status {status}" + (f", {error}" if error and error not in _STATUS_ERRORS else "")


def _utc_text(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"


def robots_request_entry(entry: EntryRecorded) -> EntryRecorded:
    """Return the robots.txt request that precedes an entry. It belongs to no job and is never recorded."""
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


def is_robots_text_long(outcome: FetchCompleted) -> bool:
    """Whether an excerpt of a robots.txt is kept, which takes a tenth of a second to make."""
    return len(outcome.robots_text) > MAX_EXCERPT_BYTES // 4  # no character takes more than four bytes


def with_robots_excerpt(outcome: FetchCompleted, *, user_agent: str) -> FetchCompleted:
    """Return the outcome with the excerpt of its robots.txt that is kept."""
    whole = truncate_robots(outcome.robots_text, is_part=outcome.robots_truncated)
    text = excerpt_robots(whole, product_token(user_agent))
    return replace_fields(outcome, robots_text=text, robots_truncated=False)


def robots_fetch_result(outcome: FetchCompleted) -> RobotsResponse:
    """Return the result of a robots.txt request from its outcome."""
    if (
        outcome.outcome == FetchOutcome.REDIRECTED
        and outcome.redirect_target
        and not outcome.redirect_refused
    ):
        return RobotsResponse(
            RobotsFetchResult.REDIRECTED,
            outcome.fetch_sequence,
            status=outcome.status,
            url=outcome.redirect_target,
            error_class=ErrorClass.ROBOTS_REDIRECTED,
        )
    result = classify_outcome(
        outcome.outcome, error_class=outcome.error_class, has_redirected=outcome.robots_hops > 0
    )
    return RobotsResponse(
        result,
        outcome.fetch_sequence,
        text=truncate_robots(outcome.robots_text, is_part=outcome.robots_truncated),
        status=outcome.status,
        url=outcome.robots_url or outcome.url,
        error_class=outcome.error_class,
    )


def robots_to_record(
    origin_name: str, group: str, robots: CachedRobots, *, user_agent: str, now_ms: int, epoch: int
) -> HostRecorded:
    """Return the record of an origin's robots.txt."""
    origin_state = robots.origin_state
    return HostRecorded(
        kind=HostRecordKind.ROBOTS,
        group=group,
        updated_at_ms=now_ms,
        origin=origin_name,
        robots_delay_seconds=robots.rules.delay_seconds(product_token(user_agent)),
        unreachable_since_ms=origin_state.unreachable_since_ms,
        last_error_class=origin_state.error_class,
        robots_state=origin_state.state,
        robots_text=origin_state.text,
        robots_hash=sha256(origin_state.text.encode("utf-8", "replace")).hexdigest()
        if origin_state.text
        else "",
        robots_status=origin_state.status,
        robots_url=origin_state.url,
        robots_asked_at_ms=origin_state.requested_at_ms,
        robots_fetched_at_ms=origin_state.fetched_at_ms,
        robots_expires_at_ms=origin_state.expires_at_ms,
        robots_failures=origin_state.failures,
        sitemap_urls=_sitemaps(robots.rules),
        epoch=epoch,
    )


def robots_from_record(record: HostRecorded) -> OriginRobots:
    """Restore the state of an origin's robots.txt from its record."""
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


def restore_robots(record: HostRecorded, *, user_agent: str, now_ms: int) -> CachedRobots:
    """Restore an origin's robots.txt for the memory of its shard.

    Records of earlier versions have texts of up to 500 KiB. Of a fresh one the excerpt is kept; an expired
    one is fetched again before anything is allowed, and is dropped.
    """
    state = robots_from_record(record)
    if len(state.text) <= MAX_EXCERPT_BYTES // 4:  # no character takes more than four bytes
        return parse_robots(state)
    if len(state.text) > MAX_EXCERPT_BYTES and state.status_at(now_ms) is RobotsStatus.FETCH_FIRST:
        return NO_ROBOTS
    text = excerpt_robots(state.text, product_token(user_agent))
    return parse_robots(replace(state, text=text))


def _sitemaps(robots: RobotsTxt) -> tuple[str, ...]:
    """Return as many sitemaps as a record has room for; the text holds all of them."""
    kept: list[str] = []
    characters_left = _MAX_SITEMAP_CHARACTERS
    for url in robots.sitemaps:
        characters_left -= len(url)
        if characters_left < 0:
            break
        kept.append(url)
    return tuple(kept)


def ended_robots_entry(outcome: FetchCompleted) -> EntryRecorded:
    """Return the ended robots.txt request, by its identity in the working set."""
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
