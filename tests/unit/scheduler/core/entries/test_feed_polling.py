"""Which feeds are polled, how often, and in which run."""

from __future__ import annotations

from typing import Any

import pytest

from strider.contracts.seed_names import feed_run_of
from strider.scheduler.core.entries.acceptance import UrlRefusal
from strider.scheduler.core.entries.candidates import Candidate
from strider.scheduler.core.entries.feed_polling import NO_POLLING, FeedPolling, place_feed
from strider.scheduler.core.entries.fetch_outcomes import OutcomeContext, apply_fetch_outcome
from strider.scheduler.core.entries.settlement import apply_settlement
from tests.unit.scheduler.builders import (
    NOW,
    URL,
    LowestChance,
    a_candidate,
    a_settlement,
    a_spec,
    an_entry,
    an_origin,
    an_outcome,
)

HOURLY = FeedPolling(3_600)


@pytest.mark.req("S1.14.13", part="both switches, and the field of the crawl spec that comes before them")
@pytest.mark.parametrize(
    ("job", "polling", "spec", "seconds"),
    [
        pytest.param("shop", NO_POLLING, {}, 0, id="off-by-default"),
        pytest.param("shop", HOURLY, {}, 3_600, id="as-configured"),
        pytest.param("shop", HOURLY, {"feed_poll_seconds": 0}, 0, id="off-in-the-spec"),
        pytest.param("shop", NO_POLLING, {"feed_poll_seconds": 900}, 900, id="on-in-the-spec"),
        pytest.param("shop", HOURLY, {"feed_poll_seconds": 1}, 60, id="not-too-often"),
        pytest.param("adhoc", HOURLY, {}, 0, id="job-of-all-senders"),
        pytest.param("adhoc", NO_POLLING, {"feed_poll_seconds": 900}, 900, id="owner-without-a-job"),
        pytest.param("raw.shop", HOURLY, {}, 0, id="stranger"),
        pytest.param("raw-seed.1f", HOURLY, {"feed_poll_seconds": 900}, 0, id="stranger-without-a-job"),
    ],
)
def test_interval(job: str, polling: FeedPolling, spec: Any, seconds: int) -> None:
    assert polling.interval_seconds(job, a_spec(**spec)) == seconds


@pytest.mark.parametrize(
    ("via", "polling", "spec", "run"),
    [
        pytest.param("alternate", HOURLY, {}, feed_run_of("job"), id="found"),
        pytest.param("seed", HOURLY, {}, feed_run_of("job"), id="named"),
        pytest.param("redirect", HOURLY, {}, feed_run_of("job"), id="target-of-a-feed"),
        pytest.param("alternate", HOURLY, {"continuous": True}, "run", id="continuous"),
        pytest.param("alternate", NO_POLLING, {}, None, id="found-and-not-polled"),
        pytest.param("alternate", NO_POLLING, {"use_feeds": True}, "run", id="read-in-its-run"),
        pytest.param("seed", NO_POLLING, {}, "run", id="named-and-not-polled"),
    ],
)
def test_the_run_of_a_feed(via: str, polling: FeedPolling, spec: Any, run: str | None) -> None:
    found = a_candidate(kind="feed", origin=an_origin(via=via))

    placed = place_feed(found, a_spec(**spec), polling)

    if run is None:
        assert isinstance(placed, UrlRefusal)
        assert placed.reason == "feed_not_polled"
    else:
        assert isinstance(placed, Candidate)
        assert (placed.origin.execution_id, placed.url) == (run, URL)


def test_other_documents_stay_in_their_run() -> None:
    page = a_candidate()

    assert place_feed(page, a_spec(), HOURLY) is page
    assert place_feed(page, None, HOURLY) is page


def in_ring(**changes: Any) -> Any:
    fetched = {"state": "in_progress", "reason": "fetched", "fetched_at_ms": NOW - 10, "kind": "feed"}
    return an_entry(**(fetched | changes))


@pytest.mark.parametrize(
    ("page", "spec", "reason", "seconds"),
    [
        pytest.param({"raw_hash": "new"}, {}, "due_again", 3_600, id="changed"),
        pytest.param({"raw_hash": "old"}, {}, "due_again", 14_400, id="unchanged"),
        pytest.param({"raw_hash": "old"}, {"adaptive": False}, "due_again", 3_600, id="not-adaptive"),
        pytest.param({"raw_hash": "old"}, {"recrawl_cap_seconds": 5_000}, "due_again", 5_000, id="ceiling"),
        pytest.param(
            {"verdict": "not_modified", "document_kind": "other"}, {}, "due_again", 14_400, id="304"
        ),
        pytest.param({"verdict": "given_up", "document_kind": "other"}, {}, "due_again", 7_200, id="crash"),
        pytest.param({"document_kind": "html"}, {}, "not_a_feed", 0, id="html"),
        pytest.param(
            {"verdict": "rejected", "rejection_kind": "plain", "document_kind": "html"},
            {},
            "not_a_feed",
            0,
            id="poor-html",
        ),
        pytest.param(
            {"verdict": "rejected", "rejection_kind": "hard", "document_kind": "html"},
            {},
            "due_again",
            7_200,
            id="block-page",
        ),
        pytest.param({"raw_hash": "new"}, {"feed_poll_seconds": 0}, "settled", 0, id="not-polled"),
    ],
)
def test_the_next_poll(page: Any, spec: Any, reason: str, seconds: int) -> None:
    before = in_ring(raw_hash="old", interval_seconds=7_200, unchanged_count=1)
    settled = a_settlement(**({"document_kind": "feed"} | page))

    after = apply_settlement(before, settled, now_ms=NOW, spec=a_spec(**spec), polling=HOURLY)

    assert after is not None
    wait = after.due_at_ms - NOW if reason == "due_again" else 0
    assert (after.reason, wait) == (reason, seconds * 1000)


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        pytest.param(an_outcome("not_found", status=410), "not_found", id="410-ends"),
        pytest.param(an_outcome("not_found", status=404), "due_again", id="404-comes-back"),
        pytest.param(an_outcome("server_error", status=500), "due_again", id="tried-in-vain"),
        pytest.param(an_outcome("blocked", status=403), "client_error", id="403-ends"),
    ],
)
def test_a_feed_without_a_page(outcome: Any, reason: str) -> None:
    at = OutcomeContext(a_spec(), NOW, host_backs_off=False, polling=HOURLY)

    after = apply_fetch_outcome(an_entry(kind="feed", tries=3), outcome, at, chance=LowestChance())

    assert after.entry is not None
    assert after.entry.reason == reason


def test_a_page_is_polled_by_no_interval_of_feeds() -> None:
    after = apply_settlement(in_ring(kind="page"), a_settlement(), now_ms=NOW, spec=a_spec(), polling=HOURLY)

    assert after is not None
    assert after.state == "completed"
