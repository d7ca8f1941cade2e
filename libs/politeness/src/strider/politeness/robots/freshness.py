"""What holds for an origin while its robots.txt is asked, known, old or out of reach?

    unknown ──good──▶ fetched ──fails──▶ last_good      (the last good copy serves on)
       │  └──4xx────▶ absent                            (all is allowed)
       └──fails─────▶ unreachable                       (nothing is allowed; asked again, ever more rarely)

A good answer or its absence holds for an hour. A failure follows 2 s and 4 s later by two more tries;
then a minute, doubling up to an hour; after a timeout an hour at once. Where nobody has ever answered and
the connection is refused to the last of them, there is no such host, as where there is no such name. Takes
an answer and the time, returns what to remember; knows neither leases nor where anything is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from strider.contracts.generated.enums import ErrorClass, FetchOutcome, RobotsState
from strider.politeness.retry_policy import ROBOTS_RETRY, RandomSource

FRESH_MS: Final = 3_600_000
"""How long an answer holds before it is asked for again."""

NO_SUCH_HOST_MS: Final = 300_000
"""How long a host that does not exist is believed not to."""

OWN_FAILURE_MS: Final = 5_000
"""Wait after a failure of our own, which says nothing of the site."""

_FIRST_WAIT_MS: Final = 60_000
_MAX_WAIT_MS: Final = 3_600_000


class RobotsFetchResult(StrEnum):
    """What asking for a robots.txt came to."""

    GOOD = "good"
    """There is one."""
    ABSENT = "absent"
    """There is none that we could have (4xx, a redirect that leads nowhere): everything is allowed."""
    FAILED = "failed"
    """The server says that it failed."""
    NO_RESPONSE = "silent"
    """Nobody answered."""
    TIMED_OUT = "timed_out"
    """Nobody answered in time."""
    NO_SUCH_HOST = "gone"
    """There is no such name."""
    FORBIDDEN = "forbidden"
    """Our own rules forbid the address."""
    OWN_FAILURE = "ours"
    """The failure is our own."""


class RobotsStatus(StrEnum):
    """What is to be done about a URL of the origin now."""

    FETCH_FIRST = "ask"
    """Ask for the robots.txt first."""
    APPLY_RULES = "obey"
    """Go by the text."""
    ALLOW_ALL = "allow"
    """There is nothing to obey."""
    UNREACHABLE = "wait"
    """It cannot be reached: nothing is allowed until it is asked again."""
    NO_SUCH_HOST = "gone"
    """The host does not exist."""
    FORBIDDEN = "forbidden"
    """The host may not be asked anything."""


@dataclass(frozen=True, slots=True)
class OriginRobots:
    """What is known of one origin's robots.txt."""

    state: RobotsState = RobotsState.UNKNOWN
    text: str = ""
    """The latest good one."""
    requested_at_ms: int = 0
    fetched_at_ms: int = 0
    expires_at_ms: int = 0
    """When it is to be asked for (again); until then what is known holds."""
    failures: int = 0
    """In a row."""
    unreachable_since_ms: int = 0
    """First failure in a row; 0 while it can be reached."""
    status: int = 0
    url: str = ""
    """Which URL answered in the end."""
    error_class: str = ""
    sequence: int = 0
    """The fetch that said so; a later one overrules it, an earlier one or the same does not."""

    def status_at(self, now_ms: int) -> RobotsStatus:
        """Say what is to be done about a URL."""
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
        """Say whether there is nobody to wait for; who answered once will do so again."""
        is_refused = self.error_class == ErrorClass.CONNECT_REFUSED and not self.url
        return self.error_class == ErrorClass.DNS_NOT_FOUND or (
            is_refused and self.failures > ROBOTS_RETRY.retries
        )


UNKNOWN_ROBOTS: Final = OriginRobots()


@dataclass(frozen=True, slots=True)
class RobotsResponse:
    """How a request for a robots.txt ended."""

    result: RobotsFetchResult
    sequence: int
    text: str = ""
    status: int = 0
    url: str = ""
    error_class: str = ""


def classify_outcome(outcome: str, *, error_class: str, has_redirected: bool) -> RobotsFetchResult:
    """Read an outcome as RFC 9309 §2.3.1 does; but 429 speaks of the host, not of a missing file."""
    if outcome == FetchOutcome.POLICY_BLOCKED:
        return RobotsFetchResult.ABSENT if has_redirected else RobotsFetchResult.FORBIDDEN
    if outcome == FetchOutcome.NETWORK_FAILED:
        return (
            RobotsFetchResult.NO_SUCH_HOST
            if error_class == ErrorClass.DNS_NOT_FOUND and not has_redirected
            else RobotsFetchResult.NO_RESPONSE
        )
    return _RESULTS.get(outcome, RobotsFetchResult.FAILED)


def apply_response(
    before: OriginRobots, response: RobotsResponse, *, now_ms: int, random: RandomSource
) -> OriginRobots:
    """Take in an answer; one that is older than what is known, or known already, changes nothing."""
    if response.sequence <= before.sequence:
        return before
    told = replace(before, sequence=response.sequence, asked_at_ms=now_ms, status=response.status)
    if response.result is RobotsFetchResult.GOOD:
        return replace(
            _reached(told, RobotsState.FETCHED, now_ms),
            text=response.text,
            fetched_at_ms=now_ms,
            url=response.url,
        )
    if response.result is RobotsFetchResult.ABSENT:
        return replace(_reached(told, RobotsState.ABSENT, now_ms), text="", fetched_at_ms=0, url=response.url)
    return _failed(told, response, now_ms=now_ms, chance=random)


def _reached(told: OriginRobots, state: RobotsState, now_ms: int) -> OriginRobots:
    return replace(
        told,
        state=state,
        expires_at_ms=now_ms + FRESH_MS,
        failures=0,
        unreachable_since_ms=0,
        error_class="",
    )


def _failed(told: OriginRobots, asked: RobotsResponse, *, now_ms: int, chance: RandomSource) -> OriginRobots:
    failed = replace(
        told,
        state=RobotsState.LAST_GOOD if told.fetched_at_ms else RobotsState.UNREACHABLE,
        failures=told.failures + (asked.result is not RobotsFetchResult.OWN_FAILURE),
        unreachable_since_ms=told.unreachable_since_ms or now_ms,
        error_class=asked.error_class,
    )
    return replace(failed, expires_at_ms=now_ms + _wait_ms(failed, asked.result, chance))


def _wait_ms(failed: OriginRobots, answer: RobotsFetchResult, chance: RandomSource) -> int:
    failures = failed.failures
    if answer in {RobotsFetchResult.NO_SUCH_HOST, RobotsFetchResult.FORBIDDEN} or (
        answer is RobotsFetchResult.NO_RESPONSE and failed.is_nonexistent_host
    ):
        return NO_SUCH_HOST_MS
    if answer is RobotsFetchResult.OWN_FAILURE:
        return OWN_FAILURE_MS
    if (seconds := ROBOTS_RETRY.wait_seconds(failures, chance)) is not None:
        return round(seconds * 1000)
    if answer is RobotsFetchResult.TIMED_OUT:
        return _MAX_WAIT_MS
    doublings = min(failures - int(ROBOTS_RETRY.retries) - 1, 16)
    wait = min(_FIRST_WAIT_MS << doublings, _MAX_WAIT_MS)
    return wait + round(chance.uniform(0, wait / 10))


_FORBIDDEN_ERRORS: Final = frozenset(
    {
        *(ErrorClass.REFUSED_ADDRESS, ErrorClass.REFUSED_HOST, ErrorClass.NO_CONTACT),
        *(ErrorClass.REFUSED_PORT, ErrorClass.REFUSED_SCHEME),
    }
)

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
"""What is not here (429, 5xx, broken HTTP, our own crash) counts as a failure."""
