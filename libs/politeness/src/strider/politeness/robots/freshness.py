"""Freshness of an origin's robots.txt: when to request it, and what applies until then.

    unknown ──good──▶ fetched ──fails──▶ last_good      (the last good copy stays in use)
       │  └──4xx────▶ absent                            (all is allowed)
       └──fails─────▶ unreachable                       (nothing is allowed; retried ever more rarely)

A redirect to the robots.txt of another host is a failure until the robots.txt there is known, and then what
that one is.

A text or its absence is used for an hour. A failure is followed by two retries after 2 s and 4 s; then by
one after a minute, doubling up to an hour; after a timeout by one after an hour. Where a host has never
responded and refuses the connection to the last retry, it is taken for nonexistent, like an unknown name.
Takes a response and the time, returns the state to store; must not know leases or storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from strider.contracts.generated.enums import ErrorClass, FetchOutcome, RobotsState
from strider.politeness.retry_policy import ROBOTS_RETRY, RandomSource

FRESH_MS: Final = 3_600_000
"""How long a successful response is used before the next request."""

NO_SUCH_HOST_MS: Final = 300_000
"""How long a host is taken for nonexistent."""

OWN_FAILURE_MS: Final = 5_000
"""Wait after a failure of our own, which says nothing about the site."""

REDIRECT_WAIT_MS: Final = 30_000
"""How long the robots.txt of another host, to which this one redirects, is waited for at first."""

_FIRST_WAIT_MS: Final = 60_000
_MAX_WAIT_MS: Final = 3_600_000


_FORBIDDEN_ERRORS: Final = frozenset(
    {
        *(ErrorClass.REFUSED_ADDRESS, ErrorClass.REFUSED_HOST, ErrorClass.NO_CONTACT),
        *(ErrorClass.REFUSED_PORT, ErrorClass.REFUSED_SCHEME),
    }
)


class RobotsFetchResult(StrEnum):
    """Result of requesting a robots.txt."""

    GOOD = "good"
    """There is one."""
    ABSENT = "absent"
    """None is available (4xx, a redirect without target): everything is allowed."""
    FAILED = "failed"
    """The server reported an error."""
    NO_RESPONSE = "no_response"
    """There was no response."""
    TIMED_OUT = "timed_out"
    """There was no response in time."""
    NO_SUCH_HOST = "no_such_host"
    """The host name does not exist."""
    FORBIDDEN = "forbidden"
    """Our own rules forbid the address."""
    REDIRECTED = "redirected"
    """It redirects to the robots.txt of another host, which is not known yet."""
    OWN_FAILURE = "own_failure"
    """The failure is our own."""


class RobotsStatus(StrEnum):
    """Current treatment of an origin's URLs."""

    FETCH_FIRST = "fetch_first"
    """Request the robots.txt first."""
    APPLY_RULES = "apply_rules"
    """Apply the rules of the text."""
    ALLOW_ALL = "allow_all"
    """No rules apply."""
    UNREACHABLE = "unreachable"
    """It is unreachable: nothing is allowed until the next request."""
    NO_SUCH_HOST = "no_such_host"
    """The host does not exist."""
    FORBIDDEN = "forbidden"
    """Requests to the host are forbidden."""


@dataclass(frozen=True, slots=True)
class OriginRobots:
    """Known state of one origin's robots.txt."""

    state: RobotsState = RobotsState.UNKNOWN
    text: str = ""
    """Text of the latest successful response."""
    requested_at_ms: int = 0
    fetched_at_ms: int = 0
    expires_at_ms: int = 0
    """When it must be requested (again)."""
    failures: int = 0
    """Consecutive failures."""
    unreachable_since_ms: int = 0
    """First of the consecutive failures; 0 while it is reachable."""
    status: int = 0
    url: str = ""
    """Final URL of the response."""
    error_class: str = ""
    sequence: int = 0
    """Fetch sequence of the latest response; the same or an earlier one does not change the state."""

    def status_at(self, now_ms: int) -> RobotsStatus:
        """Return how to treat URLs of the origin."""
        if now_ms >= self.expires_at_ms:
            return RobotsStatus.FETCH_FIRST
        if self.state in {RobotsState.FETCHED, RobotsState.LAST_GOOD}:
            return RobotsStatus.APPLY_RULES
        if self.state in {RobotsState.ABSENT, RobotsState.GIVEN_UP}:
            return RobotsStatus.ALLOW_ALL
        if self.error_class in _FORBIDDEN_ERRORS:
            return RobotsStatus.FORBIDDEN
        return RobotsStatus.NO_SUCH_HOST if self.is_nonexistent_host else RobotsStatus.UNREACHABLE

    @property
    def is_nonexistent_host(self) -> bool:
        """Whether the host is taken for nonexistent; a host that has responded before never is."""
        is_refused = self.error_class == ErrorClass.CONNECT_REFUSED and not self.url
        return self.error_class == ErrorClass.DNS_NOT_FOUND or (
            is_refused and self.failures > ROBOTS_RETRY.retries
        )


@dataclass(frozen=True, slots=True)
class RobotsResponse:
    """Outcome of one request for a robots.txt."""

    result: RobotsFetchResult
    sequence: int
    text: str = ""
    status: int = 0
    url: str = ""
    error_class: str = ""


def classify_outcome(outcome: str, *, error_class: str, has_redirected: bool) -> RobotsFetchResult:
    """Classify an outcome by RFC 9309 §2.3.1; a 429 concerns the host and does not mean a missing file."""
    if outcome == FetchOutcome.POLICY_BLOCKED:
        return RobotsFetchResult.ABSENT if has_redirected else RobotsFetchResult.FORBIDDEN
    if outcome == FetchOutcome.NETWORK_FAILED:
        return (
            RobotsFetchResult.NO_SUCH_HOST
            if error_class == ErrorClass.DNS_NOT_FOUND and not has_redirected
            else RobotsFetchResult.NO_RESPONSE
        )
    return _RESULTS.get(outcome, RobotsFetchResult.FAILED)


def apply_redirect_target(
    before: OriginRobots, response: RobotsResponse, *, now_ms: int, random: RandomSource
) -> OriginRobots:
    """Apply what the robots.txt of another host is, to which the latest response redirected.

    Changes nothing where that is not the latest response any more.
    """
    if response.sequence != before.sequence or before.error_class != ErrorClass.ROBOTS_REDIRECTED:
        return before
    waiting = replace(before, sequence=before.sequence - 1, failures=max(before.failures - 1, 0))
    return apply_response(waiting, response, now_ms=now_ms, random=random)


def apply_response(
    before: OriginRobots, response: RobotsResponse, *, now_ms: int, random: RandomSource
) -> OriginRobots:
    """Apply a response; one that is older than the state, or already applied, changes nothing."""
    if response.sequence <= before.sequence:
        return before
    updated = replace(before, sequence=response.sequence, requested_at_ms=now_ms, status=response.status)
    if response.result is RobotsFetchResult.GOOD:
        return replace(
            _with_success(updated, RobotsState.FETCHED, now_ms),
            text=response.text,
            fetched_at_ms=now_ms,
            url=response.url,
        )
    if response.result is RobotsFetchResult.ABSENT:
        return replace(
            _with_success(updated, RobotsState.ABSENT, now_ms), text="", fetched_at_ms=0, url=response.url
        )
    return _with_failure(updated, response, now_ms=now_ms, random=random)


def _with_success(updated: OriginRobots, state: RobotsState, now_ms: int) -> OriginRobots:
    return replace(
        updated,
        state=state,
        expires_at_ms=now_ms + FRESH_MS,
        failures=0,
        unreachable_since_ms=0,
        error_class="",
    )


def _with_failure(
    updated: OriginRobots, response: RobotsResponse, *, now_ms: int, random: RandomSource
) -> OriginRobots:
    failed = replace(
        updated,
        state=RobotsState.LAST_GOOD if updated.fetched_at_ms else RobotsState.UNREACHABLE,
        failures=updated.failures + (response.result is not RobotsFetchResult.OWN_FAILURE),
        unreachable_since_ms=updated.unreachable_since_ms or now_ms,
        error_class=response.error_class,
    )
    if response.error_class == ErrorClass.ROBOTS_REDIRECTED:
        failed = replace(failed, url=response.url)
    return replace(failed, expires_at_ms=now_ms + _wait_ms(failed, response.result, random))


def _wait_ms(failed: OriginRobots, result: RobotsFetchResult, random: RandomSource) -> int:
    failures = failed.failures
    if result in {RobotsFetchResult.NO_SUCH_HOST, RobotsFetchResult.FORBIDDEN} or (
        result is RobotsFetchResult.NO_RESPONSE and failed.is_nonexistent_host
    ):
        return NO_SUCH_HOST_MS
    if result is RobotsFetchResult.OWN_FAILURE:
        return OWN_FAILURE_MS
    if result is RobotsFetchResult.REDIRECTED:
        return min(REDIRECT_WAIT_MS << min(failures - 1, 16), _MAX_WAIT_MS)
    if (seconds := ROBOTS_RETRY.wait_seconds(failures, random)) is not None:
        return round(seconds * 1000)
    if result is RobotsFetchResult.TIMED_OUT:
        return _MAX_WAIT_MS
    doublings = min(failures - int(ROBOTS_RETRY.retries) - 1, 16)
    wait = min(_FIRST_WAIT_MS << doublings, _MAX_WAIT_MS)
    return wait + round(random.uniform(0, wait / 10))


_RESULTS: Final[Mapping[str, RobotsFetchResult]] = {
    FetchOutcome.FETCHED: RobotsFetchResult.GOOD,
    FetchOutcome.NOT_FOUND: RobotsFetchResult.ABSENT,
    FetchOutcome.CLIENT_ERROR: RobotsFetchResult.ABSENT,
    FetchOutcome.BLOCKED: RobotsFetchResult.ABSENT,
    FetchOutcome.REDIRECTED: RobotsFetchResult.ABSENT,
    FetchOutcome.ODD_STATUS: RobotsFetchResult.ABSENT,
    FetchOutcome.UNSUPPORTED_TYPE: RobotsFetchResult.ABSENT,
    FetchOutcome.TIMED_OUT: RobotsFetchResult.TIMED_OUT,
    FetchOutcome.TOO_SLOW: RobotsFetchResult.TIMED_OUT,
    FetchOutcome.PROXY_FAILED: RobotsFetchResult.OWN_FAILURE,
    FetchOutcome.OFFLINE: RobotsFetchResult.OWN_FAILURE,
    FetchOutcome.INTERRUPTED: RobotsFetchResult.OWN_FAILURE,
}
"""All outcomes that are not listed (429, 5xx, broken HTTP, our own crash) count as failures."""
