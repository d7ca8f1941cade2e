"""Which settlements close which entries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.scheduler.core import Fate, fate_of, settle

from .builders import NOW, a_settlement, an_entry

IN_RING = an_entry(state="in_progress", reason="fetched", fetched_at_ms=NOW - 10, raw_hash="raw")


def test_a_settled_page_closes_its_entry() -> None:
    closed = settle(IN_RING, a_settlement(), now_ms=NOW)

    assert closed == replace(
        IN_RING, state="completed", reason="settled", text_hash="text", updated_at_ms=NOW, closed_at_ms=NOW
    )
    assert fate_of(closed) is Fate.CLOSE


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
    closed = settle(IN_RING, a_settlement(verdict=verdict), now_ms=NOW)

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
    assert (settle(entry, page, now_ms=NOW) is not None) is closes
