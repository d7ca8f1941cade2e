"""Entries after a fetch outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.enums import DecisionReason as Reason
from strider.contracts.generated.enums import EntryReason, FetchOutcome
from strider.frontier.models import EntryDisposition
from strider.scheduler.core.entries.fetch_outcomes import (
    MAX_BACK_OFF_REQUEUES,
    EntryTransition,
    OutcomeContext,
    apply_fetch_outcome,
    back_off_signal_of,
    is_current,
    retry_or_close,
)
from strider.scheduler.core.entries.state import disposition_of, is_forgotten
from tests.unit.scheduler.builders import NOW, LowestChance, a_spec, an_entry, an_outcome


def end(entry: Any, outcome: Any, *, rests: bool = False, **spec: Any) -> EntryTransition:
    at = OutcomeContext(a_spec(**spec), NOW, host_backs_off=rests)
    return apply_fetch_outcome(entry, outcome, at, chance=LowestChance())


def test_a_page_is_fetched_and_settled() -> None:
    result = end(an_entry(tries=2), an_outcome("fetched", has_page=True, status=200, etag="e"))

    assert result.decisions == ()
    assert result.entry == replace(
        an_entry(),
        state="in_progress",
        reason="fetched",
        status=200,
        etag="e",
        fetched_at_ms=NOW,
        updated_at_ms=NOW,
        busy_ms=1,
    )
    assert disposition_of(result.entry) is EntryDisposition.PIPELINE


def test_what_an_entry_cost_adds_up_over_its_tries() -> None:
    """Budgets are counted from these records when a shard moves."""
    failed = an_outcome("server_error", status=500, body_bytes=40, total_us=1_500)
    first = end(an_entry(), failed).entry
    assert first is not None

    again = an_outcome("fetched", has_page=True, status=200, body_bytes=60, total_us=2_000)
    second = end(first, again).entry

    assert second is not None
    assert [(each.body_bytes, each.busy_ms) for each in (first, second)] == [(40, 2), (100, 4)]


def test_a_page_that_was_cut_by_a_budget_is_not_called_too_large() -> None:
    at = OutcomeContext(a_spec(), NOW, host_backs_off=False, has_reduced_limit=True)
    outcome = an_outcome("too_large", status=200, error_class="body_too_large")

    result = apply_fetch_outcome(an_entry(), outcome, at, chance=LowestChance())

    assert (result.label, [line.reason for line in result.decisions]) == ("budget", ["budget"])


@pytest.mark.req("S3.19.4", "S4.6.2")
@pytest.mark.parametrize(
    ("tries", "wait_ms"),
    [
        pytest.param(0, 1000, id="first"),
        pytest.param(1, 2000, id="second"),
        pytest.param(2, 4000, id="third"),
    ],
)
def test_a_failed_try_is_followed_by_another(tries: int, wait_ms: int) -> None:
    result = end(an_entry(tries=tries), an_outcome("server_error", status=500, error_class="status_server"))

    assert result.entry is not None
    assert (result.entry.due_at_ms - NOW, result.entry.tries) == (wait_ms, tries + 1)
    assert (result.entry.state, result.entry.reason) == ("pending", EntryReason.RETRY)
    assert disposition_of(result.entry) is EntryDisposition.QUEUE


@pytest.mark.req("S3.19.4", "S4.6.2", "S4.12.15")
def test_the_last_try_closes_the_entry_with_a_decision() -> None:
    result = end(
        an_entry(tries=3),
        an_outcome("timed_out", error_class="total_timeout", error_message="no answer in 30 s"),
    )

    assert result.entry is not None
    assert (result.entry.state, result.entry.reason) == ("failed", Reason.RETRIES_EXHAUSTED)
    assert [(line.reason, line.detail) for line in result.decisions] == [
        ("retries_exhausted", "no answer in 30 s")
    ]


def test_a_spec_may_set_fewer_tries() -> None:
    assert end(an_entry(), an_outcome("server_error"), max_tries=0).label == "retries_exhausted"


@pytest.mark.req("S3.19.10")
@pytest.mark.parametrize(
    ("outcome", "error_class"),
    [
        pytest.param("network_failed", "connection_reset", id="reset"),
        pytest.param("network_failed", "connect_timeout", id="connect-timeout"),
        pytest.param("timed_out", "body_timeout", id="timeout"),
        pytest.param("server_error", "status_server", id="5xx"),
        pytest.param("overloaded", "status_server", id="one-503"),
        pytest.param("too_slow", "too_slow", id="too-slow"),
        pytest.param("protocol_error", "bad_framing", id="broken-http"),
        pytest.param("crashed", "internal", id="our-own-crash"),
        pytest.param("fetched", "", id="a-page-that-was-not-published"),
    ],
)
def test_what_may_pass_is_tried_again(outcome: str, error_class: str) -> None:
    assert end(an_entry(), an_outcome(outcome, error_class=error_class)).label == "retry"


@pytest.mark.req("S3.19.9")
@pytest.mark.parametrize(
    ("outcome", "error_class", "reason"),
    [
        pytest.param("not_found", "status_client", Reason.NOT_FOUND, id="404"),
        pytest.param("client_error", "status_client", Reason.CLIENT_ERROR, id="400"),
        pytest.param("blocked", "status_client", Reason.CLIENT_ERROR, id="403"),
        pytest.param("too_large", "body_too_large", Reason.TOO_LARGE, id="too-large"),
        pytest.param("unsupported_type", "", Reason.UNSUPPORTED_TYPE, id="type"),
        pytest.param("policy_blocked", "refused_address", Reason.POLICY_BLOCKED, id="private"),
        pytest.param("policy_blocked", "refused_port", Reason.REFUSED_PORT, id="port"),
        pytest.param("network_failed", "dns_not_found", Reason.HOST_UNAVAILABLE, id="no-such-name"),
        pytest.param("network_failed", "tls_expired", Reason.HOST_UNAVAILABLE, id="certificate"),
    ],
)
def test_what_would_not_change_is_closed_at_once(outcome: str, error_class: str, reason: Reason) -> None:
    result = end(an_entry(), an_outcome(outcome, error_class=error_class, status=400))

    assert result.entry is not None
    assert (result.entry.state, result.entry.reason, result.entry.closed_at_ms) == ("failed", reason, NOW)
    assert [line.reason for line in result.decisions] == [reason]
    assert disposition_of(result.entry) is EntryDisposition.CLOSE


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(an_outcome("rate_limited", status=429), id="429"),
        pytest.param(an_outcome("overloaded", status=503, retry_after_seconds=5.0), id="503-with-a-time"),
    ],
)
def test_a_host_that_wants_to_rest_costs_the_url_nothing(outcome: Any) -> None:
    """C-9: it counts against the host, and the URL comes again as if nothing had been."""
    result = end(an_entry(tries=3), outcome, rests=True)

    assert result.entry is not None
    assert (result.entry.state, result.entry.reason, result.entry.tries) == ("pending", "host_backs_off", 3)


def test_a_503_of_a_host_that_rests_costs_nothing_either() -> None:
    assert end(an_entry(tries=3), an_outcome("overloaded"), rests=True).label == "host_backs_off"


def test_one_url_cannot_make_its_host_rest_for_ever() -> None:
    result = end(an_entry(error_count=MAX_BACK_OFF_REQUEUES - 1), an_outcome("rate_limited"), rests=True)

    assert result.label == "retries_exhausted"


@pytest.mark.parametrize("outcome", ["offline", "proxy_failed", "interrupted"])
def test_our_own_trouble_is_not_held_against_a_url(outcome: str) -> None:
    result = end(an_entry(tries=3), an_outcome(outcome))

    assert result.entry is not None
    assert (result.entry.state, result.entry.tries) == ("pending", 3)
    assert result.entry.due_at_ms == NOW + 5_000


def test_our_own_trouble_ends_with_the_patience() -> None:
    """A crawl on a machine without network must end, too."""
    entry, words = an_entry(), []
    while not words or words[-1] == "put_back":
        result = end(entry, an_outcome("offline", error_class="offline"), host_patience_seconds=120)
        assert result.entry is not None
        entry = replace(result.entry, state="pending")
        words.append(result.label)

    assert words == ["put_back"] * 4 + ["host_unavailable"]


def test_every_outcome_leads_somewhere() -> None:
    for word in FetchOutcome:
        result = end(an_entry(), an_outcome(word))
        assert result.entry is not None, word


@pytest.mark.parametrize(
    ("entry", "outcome", "is_counted"),
    [
        pytest.param(an_entry(), an_outcome("fetched"), True, id="its-own"),
        pytest.param(an_entry(fetch_sequence=4), an_outcome("fetched"), True, id="later-than-the-record"),
        pytest.param(an_entry(fetch_sequence=6), an_outcome("fetched"), False, id="of-an-older-lease"),
        pytest.param(an_entry(execution_id="other"), an_outcome("fetched"), False, id="of-another-run"),
        pytest.param(an_entry(state="in_progress"), an_outcome("fetched"), False, id="counted-already"),
    ],
)
def test_an_outcome_fits_its_question(entry: Any, outcome: Any, is_counted: bool) -> None:
    assert is_current(entry, outcome, now_ms=NOW) is is_counted
    assert (end(entry, outcome).label != "stale") is is_counted


def test_a_lease_that_ran_out_counts_as_a_failed_try() -> None:
    result = retry_or_close(an_entry(), a_spec(), now_ms=NOW, chance=LowestChance(), detail="no outcome came")

    assert result.entry is not None
    assert (result.entry.tries, result.entry.due_at_ms) == (1, NOW + 1000)


def test_what_was_not_tried_counts_as_never_seen() -> None:
    assert is_forgotten(an_entry(state="failed", reason="budget"))
    assert is_forgotten(an_entry(state="failed", reason="host_unavailable"))
    assert not is_forgotten(an_entry(state="failed", reason="host_unavailable", error_class="dns_not_found"))
    assert not is_forgotten(an_entry(state="failed", reason="not_found"))


def test_signs_are_read_of_pages_and_robots_alike() -> None:
    signs = {word: back_off_signal_of(an_outcome(word)).value for word in FetchOutcome}

    assert [word.value for word, sign in signs.items() if sign == "back_off"] == ["rate_limited"]
    assert [word.value for word, sign in signs.items() if sign == "overloaded"] == ["overloaded"]
    assert back_off_signal_of(an_outcome("overloaded", retry_after_seconds=0.0)).value == "back_off"
