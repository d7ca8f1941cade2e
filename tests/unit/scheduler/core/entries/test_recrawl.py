"""Recrawl intervals of a continuous crawl."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from strider.contracts.generated.enums import DecisionReason
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import FRONTIER
from strider.frontier.constants import queue_priority
from strider.frontier.memory.frontier import MemoryFrontier
from strider.frontier.models import EntryDisposition, QueueLimits
from strider.messaging.inprocess import simulate
from strider.scheduler.core.entries.fetch_outcomes import OutcomeContext, apply_fetch_outcome, is_current
from strider.scheduler.core.entries.recrawl import MIN_RECRAWL_SECONDS, recrawl_now
from strider.scheduler.core.entries.settlement import apply_settlement
from strider.scheduler.core.entries.state import disposition_of, mark_fetched
from tests.unit.scheduler.builders import (
    NOW,
    URL,
    LowestChance,
    a_redirect,
    a_settlement,
    a_spec,
    an_entry,
    an_outcome,
)
from tests.unit.scheduler.simulation.web import Host, Page, Web
from tests.unit.scheduler.simulation.world import SPEC, SimulatedWorld

HOUR = 3_600
CONTINUOUS = a_spec(continuous=True, recrawl_seconds=HOUR, recrawl_cap_seconds=24 * HOUR)


def in_ring(**changes: Any) -> EntryRecorded:
    return an_entry(state="in_progress", reason="fetched", fetched_at_ms=NOW - 10, **changes)


def come_round(entry: EntryRecorded, *, spec: Any = CONTINUOUS, **page: Any) -> EntryRecorded:
    result = apply_settlement(entry, a_settlement(**page), now_ms=NOW, spec=spec)
    assert result is not None
    return result


@pytest.mark.req("S4.14.2", "S4.14.3", "S3.6.5")
@pytest.mark.req("S4.8.1", part="an interval in seconds for a crawl")
@pytest.mark.req("S4.8.4", part="time: a page is due after its interval")
@pytest.mark.req("S4.1.7", part="an interval that a crawl spec names; no command sets it")
def test_a_page_comes_again_after_its_interval() -> None:
    """It waits with what its fetch has left: when it was fetched, its validators, its hashes."""
    entry = in_ring(etag="e", priority=2)

    assert come_round(entry) == replace(
        entry,
        state="pending",
        reason="due_again",
        text_hash="text",
        updated_at_ms=NOW,
        closed_at_ms=NOW,
        changed_at_ms=NOW,
        interval_seconds=HOUR,
        next_crawl_at_ms=NOW + HOUR * 1000,
        due_at_ms=NOW + HOUR * 1000,
    )


@pytest.mark.req("S4.8.5", part="a day by default, and the time of the next fetch; no priority of 5")
def test_a_day_is_the_default() -> None:
    result = come_round(in_ring(), spec=a_spec(continuous=True))

    assert result.next_crawl_at_ms == NOW + 24 * HOUR * 1000


@pytest.mark.parametrize("spec", [None, a_spec()], ids=["no-spec-any-more", "not-continuous"])
def test_without_a_continuous_crawl_it_is_over(spec: Any) -> None:
    assert disposition_of(come_round(in_ring(), spec=spec)) is EntryDisposition.CLOSE


@pytest.mark.parametrize(
    ("unchanged", "hours"),
    [pytest.param(n, h, id=f"{n}-times") for n, h in enumerate([2, 4, 8, 16, 24, 24])],
)
def test_an_unchanged_page_comes_ever_more_rarely(unchanged: int, hours: int) -> None:
    result = come_round(in_ring(text_hash="text", unchanged_count=unchanged, changed_at_ms=7))

    assert (result.interval_seconds, result.unchanged_count) == (hours * HOUR, unchanged + 1)
    assert result.changed_at_ms == 7


@pytest.mark.parametrize(
    ("entry", "page", "spec", "interval", "unchanged"),
    [
        pytest.param({"text_hash": "old"}, {}, {}, HOUR, 0, id="changed"),
        pytest.param({"text_hash": "text"}, {"raw_hash": "new"}, {}, 2 * HOUR, 6, id="only-the-bytes"),
        pytest.param(
            {"text_hash": "text", "raw_hash": "old"},
            {"raw_hash": "new"},
            {"change_basis": "raw"},
            HOUR,
            0,
            id="bytes-count-where-they-shall",
        ),
        pytest.param({}, {"verdict": "not_modified", "text_hash": ""}, {}, 2 * HOUR, 6, id="304"),
        pytest.param({"text_hash": "x"}, {"text_hash": ""}, {}, 7 * HOUR, 5, id="nothing-to-compare"),
        pytest.param({"text_hash": "x"}, {"verdict": "given_up"}, {}, 7 * HOUR, 5, id="our-own-crash"),
        pytest.param({"text_hash": "text"}, {}, {"adaptive": False}, HOUR, 6, id="not-adaptive"),
        pytest.param(
            {"text_hash": "x"}, {}, {"recrawl_seconds": 0}, MIN_RECRAWL_SECONDS, 0, id="not-too-often"
        ),
    ],
)
def test_the_text_decides(entry: Any, page: Any, spec: Any, interval: int, unchanged: int) -> None:
    """S0.2.15: what cannot be compared is neither rewarded nor punished."""
    before = in_ring(**{"unchanged_count": 5, "interval_seconds": 7 * HOUR, **entry})
    few = 2 * HOUR if interval == 2 * HOUR else 24 * HOUR
    result = come_round(before, spec=replace(CONTINUOUS, recrawl_cap_seconds=few, **spec), **page)

    assert (result.reason, result.interval_seconds, result.unchanged_count) == (
        "due_again",
        interval,
        unchanged,
    )


@pytest.mark.parametrize(
    ("outcome", "state", "reason"),
    [
        pytest.param(an_outcome("not_found", status=404), "pending", "due_again", id="404-comes-back"),
        pytest.param(an_outcome("server_error", status=500), "pending", "due_again", id="tried-in-vain"),
        pytest.param(a_redirect("http://www.a.test/new"), "pending", "due_again", id="redirect"),
        pytest.param(an_outcome("too_large"), "failed", "too_large", id="too-large"),
        pytest.param(
            an_outcome("policy_blocked", error_class="refused_address"),
            "failed",
            "policy_blocked",
            id="policy",
        ),
    ],
)
def test_what_had_no_page_may_have_one_another_time(outcome: Any, state: str, reason: str) -> None:
    """The reason why this round came to nothing is recorded all the same."""
    at = OutcomeContext(CONTINUOUS, NOW, host_backs_off=False)
    result = apply_fetch_outcome(an_entry(tries=3), outcome, at, chance=LowestChance())

    assert result.entry is not None
    assert (result.entry.state, result.entry.reason, result.entry.tries > 3) == (state, reason, False)
    assert result.decisions
    assert DecisionReason(result.decisions[0].reason)


@pytest.mark.req("S4.8.3", part="recent failures and staleness")
def test_a_page_that_failed_is_more_urgent_until_it_is_there_again() -> None:
    """Popular is what people and sites put in front, which its priority says; a failure comes on top."""
    at = OutcomeContext(CONTINUOUS, NOW, host_backs_off=False)
    outcome = an_outcome("server_error", status=500, error_class="server_error")
    failed = apply_fetch_outcome(
        an_entry(tries=3, priority=2, fetched_at_ms=NOW), outcome, at, chance=LowestChance()
    ).entry
    assert failed is not None
    there = come_round(mark_fetched(failed, an_outcome("fetched", has_page=True), now_ms=NOW))

    assert (failed.reason, queue_priority(failed), queue_priority(there)) == ("due_again", 3, 2)


@pytest.mark.req("S3.21.5", part="an interval of each page; none of a domain")
def test_pages_of_one_domain_each_learn_how_often_they_are_worth_a_look() -> None:
    """So a domain is visited as often as its pages change, taken together."""
    news, imprint = in_ring(text_hash="old"), in_ring(text_hash="text")
    for _ in range(3):
        news, imprint = (
            replace(each, state="in_progress", reason="fetched")
            for each in (come_round(news, text_hash="other"), come_round(imprint))
        )
        news = replace(news, text_hash="old")

    assert (news.interval_seconds, imprint.interval_seconds) == (HOUR, 8 * HOUR)


def test_a_round_that_is_over_is_not_counted_again() -> None:
    """A settlement may be delivered twice, and an outcome may come after it."""
    waiting = come_round(in_ring())

    assert apply_settlement(waiting, a_settlement(), now_ms=NOW, spec=CONTINUOUS) is None
    assert not is_current(waiting, an_outcome("fetched", has_page=True), now_ms=NOW + 1)
    later_ms = NOW + HOUR * 1000
    assert is_current(waiting, an_outcome("fetched", has_page=True, fetch_sequence=6), now_ms=later_ms)


def test_redirects_within_a_host_do_not_add_up_over_the_rounds() -> None:
    """But what came from another host stays told: whose credentials it may see hangs on that."""
    entry = in_ring(hop=2, redirect_chain=("http://other.test/", f"{URL}?old"))

    result = come_round(entry)

    assert (result.hop, result.redirect_chain) == (1, ("http://other.test/",))


@pytest.mark.req("S4.8.4", part="manual: a seed brings a page before its time")
def test_a_seed_does_not_wait_for_the_interval() -> None:
    waiting = come_round(in_ring(etag="e"))

    sooner = recrawl_now(waiting, seed_token="s/0/9", is_fresh=False, now_ms=NOW + 5)
    fresh = recrawl_now(waiting, seed_token="s/0/9", is_fresh=True, now_ms=NOW + 5)

    assert sooner is not None
    assert fresh is not None
    assert (sooner.state, sooner.reason, sooner.due_at_ms) == ("pending", "reopened", NOW + 5)
    assert (sooner.etag, fresh.etag) == ("e", "")
    assert recrawl_now(an_entry(), seed_token="s/0/9", is_fresh=False, now_ms=NOW) is None
    assert recrawl_now(waiting, seed_token="s/0/9", is_fresh=False, now_ms=NOW + 86_400_000) is None


SITE = "www.site.test"
HOME = f"http://{SITE}/"
ROUND_SECONDS = 120


def a_crawl() -> SimulatedWorld:
    spec = replace(
        SPEC, continuous=True, recrawl_seconds=ROUND_SECONDS, recrawl_cap_seconds=4 * ROUND_SECONDS
    )
    return SimulatedWorld(Web({SITE: Host(SITE)}, {HOME: Page(HOME)}, (HOME,)), spec=spec)


def pages_asked(world: SimulatedWorld) -> list[float]:
    return [visit.began for visit in world.web.log if visit.url == HOME]


@pytest.mark.req("S4.14.2", "S4.14.3")
@pytest.mark.req("S5.1.2", part="the interval of each page is rebuilt")
@pytest.mark.parametrize("is_lost", [pytest.param(False, id="warm"), pytest.param(True, id="rebuilt")])
def test_a_continuous_crawl_continues_by_itself(is_lost: bool) -> None:
    """Its made-up page never changes: its interval doubles twice, over a restart."""

    async def scenario() -> None:
        world = a_crawl()
        await world.begin()
        scheduler = world.start()
        while len(pages_asked(world)) < 2:
            await asyncio.sleep(10)
        await asyncio.sleep(30)
        await scheduler.kill()
        if is_lost:
            world.lose_frontier()
        last = world.start()
        while len(pages_asked(world)) < 5:
            await asyncio.sleep(10)
        await last.stop()

        began = pages_asked(world)
        waits = [round((after - before) / ROUND_SECONDS) for before, after in pairwise(began)]
        assert waits == [1, 2, 4, 4]
        assert {entry.reason for entry in world.published(FRONTIER)} == {"accepted", "fetched", "due_again"}

    simulate(scenario())


@pytest.mark.req("S4.8.4", part="manual: a seed brings a page before its time")
@pytest.mark.parametrize("is_parked", [pytest.param(False, id="queued"), pytest.param(True, id="parked")])
def test_a_seed_brings_a_page_at_once(is_parked: bool) -> None:
    async def scenario() -> None:
        world = a_crawl()
        if is_parked:
            world.pipeline.marks = MemoryFrontier(world.clock, limits=QueueLimits(horizon_ms=30_000))
        await world.begin()
        scheduler = world.start()
        await asyncio.sleep(40)
        await world.pipeline.submit(HOME)
        await asyncio.sleep(40)
        await scheduler.stop()

        first, second = pages_asked(world)
        assert 30 < second - first < 50

    simulate(scenario())
