"""The adaptive interval: its curve, what resets it, and what changes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import AdaptiveRecorded
from strider.contracts.generated.topics import ADAPTIVE_STATE
from strider.scheduler.core.jobs.adaptive import (
    MAX_PAGES,
    ComparedRun,
    StartPageHashes,
    compare_run,
    interval_of_state,
    is_forgotten,
)

HOUR = 3600
HALF_HOUR = HOUR // 2
NOW = 1_800_000_000_000


def a_run(number: int = 1, *, text: str = "same", **changes: Any) -> ComparedRun:
    run = ComparedRun(
        source_id="source",
        execution_id=f"job-{number}",
        baseline_seconds=HALF_HOUR,
        pages={"home": StartPageHashes(f"raw {number}", text)},
        ended_at_ms=NOW + number,
    )
    return replace(run, **changes)


def after(*runs: ComparedRun, before: AdaptiveRecorded | None = None) -> AdaptiveRecorded:
    state = before
    for run in runs:
        state = compare_run(state, run)
    assert state is not None
    return state


def test_the_curve_of_half_an_hour_is_exact() -> None:
    """S0.2.7, whatever the bodies are: their text is the same."""
    states = [after(*(a_run(number) for number in range(1, runs + 1))) for runs in range(1, 10)]

    curve = [0.5, 1, 2, 4, 8, 16, 24, 24, 24]
    assert [state.current_interval_seconds for state in states] == [round(hours * HOUR) for hours in curve]
    assert [state.unchanged_count for state in states] == list(range(9))


@pytest.mark.req("S0.2.3", part="the curve")
def test_a_change_resets_the_interval_to_the_baseline() -> None:
    calm = after(a_run(1), a_run(2), a_run(3))
    changed = after(a_run(4, text="other"), before=calm)

    assert calm.current_interval_seconds == 2 * HOUR
    assert calm.last_change_at_ms == NOW + 1
    assert (changed.current_interval_seconds, changed.unchanged_count) == (HALF_HOUR, 0)
    assert changed.last_change_at_ms == NOW + 4
    assert (calm.last_hash, changed.last_hash) == ("same", "other")
    assert changed.next_run_at_ms == NOW + 4 + 1000 * HALF_HOUR


def test_a_repeat_of_a_run_changes_nothing() -> None:
    state = after(a_run(1), a_run(2))

    assert compare_run(state, a_run(2, text="other", ended_at_ms=NOW + 99)) is state


@pytest.mark.parametrize(("basis", "count"), [("text", 2), ("raw", 0)])
def test_the_basis_decides_which_hash_counts(basis: str, count: int) -> None:
    """An advertisement changes the body of each load, and the text of none."""
    runs = [a_run(number, basis=basis) for number in (1, 2, 3)]

    assert after(*runs).unchanged_count == count


def test_another_basis_compares_what_was_known_by_it() -> None:
    """Both hashes are kept."""
    state = after(a_run(1), a_run(2))

    pages = {"home": StartPageHashes("raw 2", "other")}
    assert after(a_run(3, basis="raw", pages=pages), before=state).unchanged_count == 2


def test_any_start_page_that_changed_counts() -> None:
    """C-14."""
    pages = {name: StartPageHashes("", name) for name in ("a", "b", "c")}
    calm = after(a_run(1, pages=pages), a_run(2, pages=pages))
    changed = after(a_run(3, pages=pages | {"c": StartPageHashes("", "new")}), before=calm)

    assert (calm.unchanged_count, changed.unchanged_count) == (1, 0)


def test_a_page_without_a_hash_is_neither_reward_nor_penalty() -> None:
    """S0.2.15. It is compared by its earlier hash when it is back."""
    pages = {name: StartPageHashes("", name) for name in ("a", "b")}
    calm = after(a_run(1, pages=pages), a_run(2, pages=pages))
    failed = after(a_run(3, pages=pages | {"b": StartPageHashes()}), before=calm)
    back = after(a_run(4, pages=pages), before=failed)
    other = after(a_run(4, pages=pages | {"b": StartPageHashes("", "new")}), before=failed)

    assert [each.unchanged_count for each in (calm, failed, back, other)] == [1, 1, 2, 0]
    assert failed.current_interval_seconds == calm.current_interval_seconds


@pytest.mark.req("S0.2.15", part="the curve")
def test_a_run_without_any_hash_leaves_the_state_as_it_is() -> None:
    nothing = {"home": StartPageHashes()}

    assert compare_run(None, a_run(pages=nothing)) is None
    assert compare_run(None, a_run(pages={})) is None
    state = after(a_run(1), a_run(2))
    failed = after(a_run(3, pages=nothing), before=state)
    assert (failed.current_interval_seconds, failed.unchanged_count, failed.last_hash) == (HOUR, 1, "same")


def test_a_state_is_forgotten_with_its_source_or_400_days_after_its_last_comparison() -> None:
    state, days = after(a_run(1)), 86_400_000
    last = state.updated_at_ms

    assert is_forgotten(state, exists=False, now_ms=last)
    assert not is_forgotten(state, exists=True, now_ms=last + 400 * days)
    assert is_forgotten(state, exists=True, now_ms=last + 400 * days + 1)


def test_another_baseline_holds_at_once() -> None:
    assert after(a_run(1), a_run(2), a_run(3, baseline_seconds=HOUR)).current_interval_seconds == 4 * HOUR


def test_two_jobs_of_a_source_do_not_reset_each_other() -> None:
    first = {"a": StartPageHashes("", "a")}
    second = {"b": StartPageHashes("", "b")}
    state = after(a_run(1, pages=first), a_run(2, pages=second))
    calm = after(a_run(3, pages=first), a_run(4, pages=second), before=state)

    assert calm.unchanged_count == 2
    assert interval_of_state(calm, baseline_seconds=HOUR) == 4 * HOUR


def test_the_record_of_a_source_with_many_start_pages_fits_its_topic() -> None:
    pages = {f"{number:064x}": StartPageHashes("r" * 64, "t" * 64) for number in range(5 * MAX_PAGES)}
    others = {f"{number:064x}": StartPageHashes("r" * 64, "t" * 64) for number in range(10**6, 10**6 + 50)}
    state = after(a_run(1, pages=pages), a_run(2, pages=others))

    assert len(state.url_keys) == MAX_PAGES
    encoded = Codec(SchemaStore.bundled()).encode(ADAPTIVE_STATE, state)
    assert len(encoded.value) <= ADAPTIVE_STATE.max_bytes
