"""Pages that are given up are rejected from their headers alone."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from strider.contracts.generated.events import PageRejected
from strider.crawl.page_rejections import page_rejection
from strider.messaging.ports import Header

GOOD: dict[str, bytes] = {
    "entry": b"blog/2025/" + b"ab" * 32,
    "execution": b"e",
    "fetch-sequence": b"4",
    "group": b"site.test",
}


@dataclass(frozen=True, slots=True)
class ARecord:
    headers: tuple[Header, ...]
    topic: str = "pages-parsed"
    partition: int = 0
    offset: int = 0
    timestamp: int = 0
    key: bytes | None = None
    value: bytes | None = None


def rejection(headers: dict[str, bytes], reason: str = "handler_crashed") -> PageRejected | None:
    return page_rejection(ARecord(tuple(headers.items())), reason, service="validator", now_ms=5)


def test_all_that_settles_an_entry_is_in_the_headers() -> None:
    assert rejection(GOOD) == PageRejected(
        url_key="ab" * 32,
        group="site.test",
        job_id="blog/2025",
        execution_id="e",
        fetch_sequence=4,
        validation_status="rejected",
        rejection_reason="handler_crashed",
        rejection_kind="plain",
        rejected_by="validator",
        rejected_at_ms=5,
        detail="handler_crashed",
    )


@pytest.mark.parametrize(
    ("given_up_for", "rejected_for"),
    [
        ("handler_crashed", "handler_crashed"),
        ("answer_refused", "handler_crashed"),
        ("handler_timeout", "handler_timeout"),
        ("bad_magic", "unreadable_message"),
        ("unknown_schema", "unreadable_message"),
    ],
)
def test_reasons_of_dead_letters_become_those_of_rejections(given_up_for: str, rejected_for: str) -> None:
    found = rejection(GOOD, given_up_for)

    assert found is not None
    assert found.rejection_reason == rejected_for


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param({"entry": b"no-slash"}, id="entry-without-job"),
        pytest.param({"entry": b"/key"}, id="no-job"),
        pytest.param({"entry": b"job/"}, id="no-key"),
        pytest.param({"fetch-sequence": b"many"}, id="no-number"),
        pytest.param({"group": b"\xff"}, id="no-text"),
        pytest.param({"group": b""}, id="no-group"),
    ],
)
def test_headers_that_name_no_page_reject_nothing(bad: dict[str, bytes]) -> None:
    assert rejection({**GOOD, **bad}) is None


@pytest.mark.parametrize("name", GOOD)
def test_every_header_is_needed(name: str) -> None:
    assert rejection({key: value for key, value in GOOD.items() if key != name}) is None
