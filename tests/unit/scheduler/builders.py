"""Builders of values; each fills in what a test does not care about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strider.contracts.generated.enums import LinkVia
from strider.contracts.generated.events import (
    CrawlSpecDeclared,
    EntryRecorded,
    FetchCompleted,
    PageSettled,
)
from strider.scheduler.core.entries.candidates import Candidate, CandidateOrigin
from strider.urls import host_of, origin_of, url_hash, url_key_of

NOW = 1_800_000_000_000
URL = "http://www.a.test/page"


class LowestChance:
    """Randomness that always returns the lowest value."""

    def uniform(self, low: float, high: float) -> float:
        return low


def key(url: str) -> str:
    return url_hash(url_key_of(url))


def a_spec(**changes: Any) -> CrawlSpecDeclared:
    return CrawlSpecDeclared(**{"crawl_spec_id": "spec", **changes})


def an_origin(**changes: Any) -> CandidateOrigin:
    page = "http://www.a.test/"
    return replace(CandidateOrigin(LinkVia.LINK, page, key(page), "job", "run", "spec"), **changes)


def a_candidate(url: str = URL, **changes: Any) -> Candidate:
    return replace(Candidate(url, key(url), an_origin(), depth=1, priority=1, group=host_of(url)), **changes)


def an_entry(url: str = URL, **changes: Any) -> EntryRecorded:
    entry = EntryRecorded(
        job_id="job",
        url_key=key(url),
        url=url,
        group=host_of(url),
        state="pending",
        execution_id="run",
        crawl_spec_id="spec",
        fetch_sequence=5,
        updated_at_ms=NOW - 1000,
        reason="accepted",
        discovered_at_ms=NOW - 1000,
        due_at_ms=NOW - 1000,
    )
    return replace(entry, **changes)


def an_outcome(outcome: str, url: str = URL, **changes: Any) -> FetchCompleted:
    told = FetchCompleted(
        url=url,
        url_key=key(url),
        origin=origin_of(url),
        group=host_of(url),
        job_id="job",
        execution_id="run",
        crawl_spec_id="spec",
        fetch_sequence=5,
        lease_id="0-0-5",
        try_number=1,
        outcome=outcome,
        completed_at_ms=NOW,
        started_at_us=(NOW - 500) * 1000,
    )
    return replace(told, **changes)


def a_redirect(target: str, **changes: Any) -> FetchCompleted:
    told = {"redirect_target": target, "redirect_target_key": key(target) if target else "", "status": 301}
    return an_outcome("redirected", **(told | changes))


def a_settlement(url: str = URL, **changes: Any) -> PageSettled:
    page = PageSettled(
        url_key=key(url),
        group=host_of(url),
        job_id="job",
        execution_id="run",
        fetch_sequence=5,
        verdict="valid",
        settled_at_ms=NOW,
        text_hash="text",
    )
    return replace(page, **changes)
