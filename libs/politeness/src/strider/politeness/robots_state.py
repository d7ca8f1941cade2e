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

from strider.contracts.generated.words import ErrorClass, FetchOutcome, RobotsState

from .ladder import ROBOTS, Chance

HOT_MS: Final = 3_600_000
"""How long an answer holds before it is asked for again."""

GONE_MS: Final = 300_000
"""How long a host that does not exist is believed not to."""

OURS_MS: Final = 5_000
"""Wait after a failure of our own, which says nothing of the site."""

_FIRST_WAIT_MS: Final = 60_000
_MAX_WAIT_MS: Final = 3_600_000


class Answer(StrEnum):
    """What asking for a robots.txt came to."""

    GOOD = "good"
    """There is one."""
    ABSENT = "absent"
    """There is none that we could have (4xx, a redirect that leads nowhere): everything is allowed."""
    FAILED = "failed"
    """The server says that it failed."""
    SILENT = "silent"
    """Nobody answered."""
    TIMED_OUT = "timed_out"
    """Nobody answered in time."""
    GONE = "gone"
    """There is no such name."""
    FORBIDDEN = "forbidden"
    """Our own rules forbid the address."""
    OURS = "ours"
    """The failure is our own."""


class Standing(StrEnum):
    """What is to be done about a URL of the origin now."""

    ASK = "ask"
    """Ask for the robots.txt first."""
    OBEY = "obey"
    """Go by the text."""
    ALLOW = "allow"
    """There is nothing to obey."""
    WAIT = "wait"
    """It cannot be reached: nothing is allowed until it is asked again."""
    GONE = "gone"
    """The host does not exist."""
    FORBIDDEN = "forbidden"
    """The host may not be asked anything."""


@dataclass(frozen=True, slots=True)
class OriginRobots:
    """What is known of one origin's robots.txt."""

    state: RobotsState = RobotsState.UNKNOWN
    text: str = ""
    """The latest good one."""
    asked_at_ms: int = 0
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

    def standing(self, now_ms: int) -> Standing:
        """Say what is to be done about a URL."""
        if now_ms >= self.expires_at_ms:
            return Standing.ASK
        if self.state in {RobotsState.FETCHED, RobotsState.LAST_GOOD}:
            return Standing.OBEY
        if self.state in {RobotsState.ABSENT, RobotsState.GIVEN_UP}:
            return Standing.ALLOW
        if self.error_class in _FORBIDDEN:
            return Standing.FORBIDDEN
        return Standing.GONE if self.is_gone else Standing.WAIT

    @property
    def is_gone(self) -> bool:
        """Say whether there is nobody to wait for; who answered once will do so again."""
        is_refused = self.error_class == ErrorClass.CONNECT_REFUSED and not self.url
        return self.error_class == ErrorClass.DNS_NOT_FOUND or (is_refused and self.failures > ROBOTS.tries)


UNKNOWN: Final = OriginRobots()


@dataclass(frozen=True, slots=True)
class Asked:
    """How a request for a robots.txt ended."""

    answer: Answer
    sequence: int
    text: str = ""
    status: int = 0
    url: str = ""
    error_class: str = ""


def answer_of(outcome: str, *, error_class: str, has_redirected: bool) -> Answer:
    """Read an outcome as RFC 9309 §2.3.1 does; but 429 speaks of the host, not of a missing file."""
    if outcome == FetchOutcome.POLICY_BLOCKED:
        return Answer.ABSENT if has_redirected else Answer.FORBIDDEN
    if outcome == FetchOutcome.NETWORK_FAILED:
        return (
            Answer.GONE if error_class == ErrorClass.DNS_NOT_FOUND and not has_redirected else Answer.SILENT
        )
    return _ANSWERS.get(outcome, Answer.FAILED)


def answered(before: OriginRobots, asked: Asked, *, now_ms: int, chance: Chance) -> OriginRobots:
    """Take in an answer; one that is older than what is known, or known already, changes nothing."""
    if asked.sequence <= before.sequence:
        return before
    told = replace(before, sequence=asked.sequence, asked_at_ms=now_ms, status=asked.status)
    if asked.answer is Answer.GOOD:
        return replace(
            _reached(told, RobotsState.FETCHED, now_ms),
            text=asked.text,
            fetched_at_ms=now_ms,
            url=asked.url,
        )
    if asked.answer is Answer.ABSENT:
        return replace(_reached(told, RobotsState.ABSENT, now_ms), text="", fetched_at_ms=0, url=asked.url)
    return _failed(told, asked, now_ms=now_ms, chance=chance)


def _reached(told: OriginRobots, state: RobotsState, now_ms: int) -> OriginRobots:
    return replace(
        told,
        state=state,
        expires_at_ms=now_ms + HOT_MS,
        failures=0,
        unreachable_since_ms=0,
        error_class="",
    )


def _failed(told: OriginRobots, asked: Asked, *, now_ms: int, chance: Chance) -> OriginRobots:
    failed = replace(
        told,
        state=RobotsState.LAST_GOOD if told.fetched_at_ms else RobotsState.UNREACHABLE,
        failures=told.failures + (asked.answer is not Answer.OURS),
        unreachable_since_ms=told.unreachable_since_ms or now_ms,
        error_class=asked.error_class,
    )
    return replace(failed, expires_at_ms=now_ms + _wait_ms(failed, asked.answer, chance))


def _wait_ms(failed: OriginRobots, answer: Answer, chance: Chance) -> int:
    failures = failed.failures
    if answer in {Answer.GONE, Answer.FORBIDDEN} or (answer is Answer.SILENT and failed.is_gone):
        return GONE_MS
    if answer is Answer.OURS:
        return OURS_MS
    if (seconds := ROBOTS.wait_seconds(failures, chance)) is not None:
        return round(seconds * 1000)
    if answer is Answer.TIMED_OUT:
        return _MAX_WAIT_MS
    doublings = min(failures - int(ROBOTS.tries) - 1, 16)
    wait = min(_FIRST_WAIT_MS << doublings, _MAX_WAIT_MS)
    return wait + round(chance.uniform(0, wait / 10))


_FORBIDDEN: Final = frozenset(
    {
        *(ErrorClass.REFUSED_ADDRESS, ErrorClass.REFUSED_HOST, ErrorClass.NO_CONTACT),
        *(ErrorClass.REFUSED_PORT, ErrorClass.REFUSED_SCHEME),
    }
)

_ANSWERS: Final[Mapping[str, Answer]] = {
    FetchOutcome.FETCHED: Answer.GOOD,
    FetchOutcome.NOT_FOUND: Answer.ABSENT,
    FetchOutcome.CLIENT_ERROR: Answer.ABSENT,
    FetchOutcome.BLOCKED: Answer.ABSENT,
    FetchOutcome.REDIRECTED: Answer.ABSENT,
    FetchOutcome.ODD_STATUS: Answer.ABSENT,
    FetchOutcome.UNSUPPORTED_TYPE: Answer.ABSENT,
    FetchOutcome.TIMED_OUT: Answer.TIMED_OUT,
    FetchOutcome.TOO_SLOW: Answer.TIMED_OUT,
    FetchOutcome.PROXY_FAILED: Answer.OURS,
    FetchOutcome.OFFLINE: Answer.OURS,
    FetchOutcome.INTERRUPTED: Answer.OURS,
}
"""What is not here (429, 5xx, broken HTTP, our own crash) counts as a failure."""
