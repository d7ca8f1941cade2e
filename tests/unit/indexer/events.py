"""Builders of events with defaults for fields that a test does not set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strider.contracts.generated.events import (
    DeadLetter,
    EntryRecorded,
    FetchCompleted,
    HostRecorded,
    PageParsed,
    PageRejected,
    PageValidated,
    UrlsDecided,
    Verdict,
)
from strider.urls import host_of, origin_of, url_hash, url_key_of

URL = "https://www.example.org/a"
FETCHED_AT_MS = 1_700_000_000_000


def key(url: str = URL) -> str:
    """Return the key of a URL."""
    return url_hash(url_key_of(url))


def _identity(url: str) -> dict[str, Any]:
    return {
        "url": url,
        "url_key": key(url),
        "origin": origin_of(url),
        "group": host_of(url),
        "job_id": "adhoc",
        "execution_id": "run-1",
        "crawl_spec_id": "spec",
        "fetch_sequence": 1,
    }


def a_parsed(url: str = URL, **fields: Any) -> PageParsed:
    """Return a parsed page."""
    page = PageParsed(
        **_identity(url),
        outcome="parsed",
        parser="strider",
        parser_version="1",
        fetched_at_ms=FETCHED_AT_MS,
        status=200,
        content_type="text/html",
        document_kind="html",
        title="A",
        text="some words",
        text_hash="t1",
        raw_hash="r1",
    )
    return replace(page, **fields)


def a_page(url: str = URL, **fields: Any) -> PageValidated:
    """Return a validated page; fields are those of the parsed page."""
    verdict = Verdict("valid", rules_version="1", validated_at_ms=FETCHED_AT_MS + 5)
    return PageValidated(a_parsed(url, **fields), verdict)


def a_rejection(url: str = URL, **fields: Any) -> PageRejected:
    """Return a rejected page."""
    identity = _identity(url)
    rejected = PageRejected(
        url_key=identity.pop("url_key"),
        group=identity.pop("group"),
        job_id=identity.pop("job_id"),
        execution_id=identity.pop("execution_id"),
        fetch_sequence=identity.pop("fetch_sequence"),
        validation_status="rejected",
        rejection_reason="captcha",
        rejection_kind="plain",
        rejected_by="validator",
        rejected_at_ms=FETCHED_AT_MS + 5,
        **identity,
        status=200,
    )
    return replace(rejected, **fields)


def a_decision(*urls: str, **fields: Any) -> UrlsDecided:
    """Return the refusal of some URLs as out of scope."""
    chosen = urls or (URL,)
    decided = UrlsDecided(
        url_key=key(),
        decided_by="link-ingestion",
        decided_at_ms=FETCHED_AT_MS,
        urls=chosen,
        url_keys=tuple(key(url) if "://" in url else "" for url in chosen),
        decisions=("refused",) * len(chosen),
        reasons=("out_of_scope",) * len(chosen),
        job_id="adhoc",
        execution_id="run-1",
    )
    return replace(decided, **fields)


def a_completion(url: str = URL, **fields: Any) -> FetchCompleted:
    """Return a failed request."""
    completed = FetchCompleted(
        **_identity(url),
        lease_id="3-a-1",
        try_number=1,
        outcome="timed_out",
        completed_at_ms=FETCHED_AT_MS,
        error_class="head_timeout",
        error_category="network",
    )
    return replace(completed, **fields)


def a_letter(**fields: Any) -> DeadLetter:
    """Return a dead letter of the parser."""
    letter = DeadLetter(
        service="parser",
        group="parser",
        topic="pages-fetched",
        partition=3,
        offset=7,
        reason="handler_crashed",
        category="handler",
        occurred_at_ms=FETCHED_AT_MS,
        task_id=f"adhoc/{key()}",
        error_class="ValueError",
        error_message="no",
    )
    return replace(letter, **fields)


def an_entry(url: str = URL, **fields: Any) -> EntryRecorded:
    """Return the frontier's record of a URL."""
    identity = _identity(url)
    del identity["origin"]
    entry = EntryRecorded(
        **identity,
        state="pending",
        reason="accepted",
        updated_at_ms=FETCHED_AT_MS,
        discovered_at_ms=FETCHED_AT_MS - 1000,
        due_at_ms=FETCHED_AT_MS + 1000,
    )
    return replace(entry, **fields)


def a_host(group: str = "www.example.org", **fields: Any) -> HostRecorded:
    """Return the record of a host group."""
    record = HostRecorded(kind="group", group=group, updated_at_ms=FETCHED_AT_MS, delay_seconds=1.0)
    return replace(record, **fields)
