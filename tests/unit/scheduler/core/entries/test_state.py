"""Entry states: any order of events leads to permitted transitions only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from strider.contracts.entry_states import is_allowed_transition
from strider.contracts.generated.enums import ErrorClass, FetchOutcome, SettleVerdict
from strider.contracts.generated.events import EntryRecorded
from strider.frontier.models import EntryDisposition
from strider.politeness.robots.freshness import OriginRobots
from strider.politeness.robots.robots_txt import RobotsTxt
from strider.scheduler.core.entries.fetch_outcomes import OutcomeContext, apply_fetch_outcome, retry_or_close
from strider.scheduler.core.entries.settlement import apply_settlement
from strider.scheduler.core.entries.state import disposition_of, open_entry
from strider.scheduler.core.hosts.host_state import new_host_group
from strider.scheduler.core.hosts.robots import NO_ROBOTS, CachedRobots
from strider.scheduler.core.release.decision import ReleaseAction, ReleaseContext, decide_release
from tests.unit.scheduler.builders import (
    NOW,
    URL,
    LowestChance,
    a_candidate,
    a_redirect,
    a_settlement,
    a_spec,
    an_outcome,
)

TARGETS = ("", URL, f"{URL}/", "http://www.a.test/other", "http://elsewhere.test/", "file:///etc/passwd")
RULES = (
    NO_ROBOTS,
    CachedRobots(
        OriginRobots(state="fetched", expires_at_ms=NOW * 2), RobotsTxt("User-agent: *\nDisallow: /")
    ),
    CachedRobots(
        OriginRobots(state="unreachable", expires_at_ms=NOW + 1, unreachable_since_ms=1), RobotsTxt("")
    ),
)


class Life(RuleBasedStateMachine):
    """One entry, asked for and settled again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = NOW
        self.sequence = 5
        self.spec = a_spec(host_patience_seconds=600)
        self.before: EntryRecorded | None = None
        self.entry = open_entry(a_candidate(), now_ms=NOW)
        self.asked = 0

    def follow(self, entry: EntryRecorded | None) -> None:
        if entry is not None:
            assert is_allowed_transition(self.entry, entry), (self.entry, entry)
            self.before, self.entry = self.entry, entry

    @property
    def is_open(self) -> bool:
        return disposition_of(self.entry) in {EntryDisposition.QUEUE, EntryDisposition.PIPELINE}

    @rule(seconds=st.integers(0, 1000))
    def wait(self, seconds: int) -> None:
        self.now_ms += seconds * 1000

    @precondition(lambda self: self.entry.state == "pending")
    @rule(rules=st.sampled_from(RULES))
    def take_turn(self, rules: CachedRobots) -> None:
        around = ReleaseContext(
            self.spec, new_host_group("www.a.test", delay_seconds=1.0), rules, "Strider", self.now_ms
        )
        result = decide_release(self.entry, around)
        if result.action in {ReleaseAction.WAIT, ReleaseAction.CLOSE}:
            self.follow(result.entry)

    @precondition(lambda self: self.is_open)
    @rule(
        word=st.sampled_from(FetchOutcome),
        error=st.sampled_from(["", *ErrorClass]),
        has_page=st.booleans(),
        is_late=st.booleans(),
        leads_to=st.sampled_from(TARGETS),
    )
    def conclude(self, word: str, error: str, *, has_page: bool, is_late: bool, leads_to: str) -> None:
        self.sequence += not is_late
        about: dict[str, Any] = {"fetch_sequence": self.sequence, "error_class": error}
        if word == FetchOutcome.REDIRECTED:
            outcome = a_redirect(leads_to, **about)
        else:
            outcome = an_outcome(word, has_page=has_page and word == FetchOutcome.FETCHED, **about)
        at = OutcomeContext(self.spec, self.now_ms, host_backs_off=is_late)
        self.follow(apply_fetch_outcome(self.entry, outcome, at, chance=LowestChance()).entry)

    @precondition(lambda self: self.entry.state == "pending")
    @rule()
    def run_out(self) -> None:
        result = retry_or_close(
            self.entry, self.spec, now_ms=self.now_ms, chance=LowestChance(), detail="no outcome came"
        )
        self.follow(result.entry)

    @precondition(lambda self: self.is_open)
    @rule(verdict=st.sampled_from(SettleVerdict), back=st.integers(0, 2))
    def settle_page(self, verdict: str, back: int) -> None:
        page = a_settlement(verdict=verdict, fetch_sequence=self.sequence - back)
        self.follow(apply_settlement(self.entry, page, now_ms=self.now_ms))

    @precondition(lambda self: not self.is_open)
    @rule()
    def open_again(self) -> None:
        self.sequence += 1
        again = open_entry(a_candidate(), now_ms=self.now_ms, reason="reopened", after_sequence=self.sequence)
        self.follow(again)

    @invariant()
    def what_is_closed_says_when_and_why(self) -> None:
        if not self.is_open:
            assert self.entry.closed_at_ms <= self.now_ms
            assert self.entry.closed_at_ms > 0
            assert self.entry.reason

    @invariant()
    def an_end_is_never_far(self) -> None:
        assert self.entry.tries <= self.spec.max_tries + 1
        assert self.entry.hop <= self.spec.max_hops


Life.TestCase.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)
TestLives = pytest.mark.req("S3.5.9")(Life.TestCase)


def test_the_record_alone_decides_where_an_entry_is() -> None:
    """So that a rebuild and a decision cannot disagree."""
    entry = open_entry(a_candidate(), now_ms=NOW)

    fates = {
        state: disposition_of(replace(entry, state=state))
        for state in ("pending", "in_progress", "completed")
    }
    assert fates == {
        "pending": EntryDisposition.QUEUE,
        "in_progress": EntryDisposition.PIPELINE,
        "completed": EntryDisposition.CLOSE,
    }
