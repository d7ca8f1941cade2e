"""Settlements that close entries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.frontier.models import EntryDisposition
from strider.scheduler.core.entries.settlement import apply_settlement
from strider.scheduler.core.entries.state import disposition_of
from tests.unit.scheduler.builders import NOW, a_settlement, an_entry

IN_RING = an_entry(state="in_progress", reason="fetched", fetched_at_ms=NOW - 10, raw_hash="raw")


def test_a_settled_page_closes_its_entry() -> None:
    closed = apply_settlement(IN_RING, a_settlement(), now_ms=NOW)

    assert closed == replace(
        IN_RING, state="completed", reason="settled", text_hash="text", updated_at_ms=NOW, closed_at_ms=NOW
    )
    assert disposition_of(closed) is EntryDisposition.CLOSE


@pytest.mark.parametrize(
    ("verdict", "state", "reason"),
    [
        pytest.param("valid", "completed", "settled", id="valid"),
        pytest.param("not_modified", "completed", "not_modified", id="not-modified"),
        pytest.param("rejected", "completed", "rejected", id="rejected"),
        pytest.param("given_up", "failed", "handler_crashed", id="given-up"),
        pytest.param("of-a-newer-service", "completed", "settled", id="new-word"),
    ],
)
def test_the_verdict_is_kept(verdict: str, state: str, reason: str) -> None:
    closed = apply_settlement(IN_RING, a_settlement(verdict=verdict), now_ms=NOW)

    assert closed is not None
    assert (closed.state, closed.reason) == (state, reason)


@pytest.mark.parametrize(
    ("entry", "page", "closes"),
    [
        pytest.param(IN_RING, a_settlement(), True, id="its-own"),
        pytest.param(IN_RING, a_settlement(fetch_sequence=4), False, id="an-older-fetch"),
        pytest.param(IN_RING, a_settlement(execution_id="other"), False, id="another-run"),
        pytest.param(
            an_entry(fetch_sequence=4), a_settlement(), True, id="round-before-its-outcome-was-read"
        ),
        pytest.param(an_entry(tries=1), a_settlement(), True, id="round-though-its-lease-ran-out"),
    ],
)
def test_only_the_same_run_and_fetch_close(entry: Any, page: Any, closes: bool) -> None:
    assert (apply_settlement(entry, page, now_ms=NOW) is not None) is closes


ANSWER: dict[str, Any] = {
    "status": 200,
    "etag": '"new"',
    "last_modified": "today",
    "total_us": 1_500,
    "body_bytes": 99,
}
TRIED = an_entry(
    fetch_sequence=4, status=503, etag='"old"', last_modified="once", tries=2, error_count=1,
    error_class="http_503", body_bytes=10, busy_ms=3, fetched_at_ms=NOW - 10, text_hash="old",
)  # fmt: skip
"""Was fetched before, tried twice since, and under way at the last event."""


def test_a_page_settled_before_its_outcome_is_read_has_its_response() -> None:
    """Outcomes may wait for a commit, and the pipeline is faster: the outcome says nothing any more."""
    closed = apply_settlement(TRIED, a_settlement(**ANSWER), now_ms=NOW)

    assert closed == replace(
        TRIED, state="completed", reason="settled", fetch_sequence=5, text_hash="text", updated_at_ms=NOW,
        closed_at_ms=NOW, fetched_at_ms=NOW, status=200, etag='"new"', last_modified="today", tries=0,
        error_count=0, error_class="", body_bytes=109, busy_ms=5,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("not_modified", "etag", "last_modified"),
    [pytest.param(True, '"old"', "once", id="304"), pytest.param(False, "", "", id="another-page")],
)
def test_validators_are_those_of_the_page_that_was_settled(
    not_modified: bool, etag: str, last_modified: str
) -> None:
    """Those of an older page beside the hashes of this one would take that one's return for no change."""
    page = a_settlement(**ANSWER | {"etag": "", "last_modified": "", "not_modified": not_modified})

    closed = apply_settlement(TRIED, page, now_ms=NOW)

    assert closed is not None
    assert (closed.etag, closed.last_modified) == (etag, last_modified)


def test_an_outcome_that_was_read_stands() -> None:
    entry = replace(IN_RING, status=203, etag='"e"', body_bytes=7, busy_ms=1)

    closed = apply_settlement(entry, a_settlement(**ANSWER), now_ms=NOW)

    assert closed is not None
    told = replace(closed, state="", reason="", text_hash="", updated_at_ms=0, closed_at_ms=0)
    assert told == replace(entry, state="", reason="", text_hash="", updated_at_ms=0, closed_at_ms=0)


def test_an_unreadable_page_has_no_response_fields() -> None:
    closed = apply_settlement(TRIED, a_settlement(verdict="given_up"), now_ms=NOW)

    assert closed is not None
    assert (closed.status, closed.etag, closed.body_bytes, closed.busy_ms) == (503, '"old"', 10, 3)
