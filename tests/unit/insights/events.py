"""Builders of events with defaults for fields that a test does not set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strider.contracts.generated.events import FetchCompleted, PageSettled

_FETCH = FetchCompleted(
    url="http://a.test/",
    url_key="0" * 64,
    origin="http://a.test",
    group="a.test",
    job_id="adhoc",
    execution_id="run",
    crawl_spec_id="spec",
    fetch_sequence=1,
    lease_id="0-1-1",
    try_number=1,
    outcome="fetched",
    completed_at_ms=1,
)
_SETTLEMENT = PageSettled(
    url_key="0" * 64,
    group="a.test",
    job_id="adhoc",
    execution_id="run",
    fetch_sequence=1,
    verdict="valid",
    settled_at_ms=1,
)


def a_fetch(**changes: Any) -> FetchCompleted:
    return replace(_FETCH, **changes)


def a_settlement(**changes: Any) -> PageSettled:
    return replace(_SETTLEMENT, **changes)
