"""Requests and answers for the tests of this folder."""

from __future__ import annotations

from typing import Any

from strider.contracts.generated.events import FetchRequested
from strider.fetcher.core import FetchedResponse, RequestTrace, ResponseHead, head_of

URL = "https://site.test/a"


def request(url: str = URL, **more: Any) -> FetchRequested:
    """Make a request; what a test is not about is filled in."""
    told: dict[str, Any] = {
        "url_key": "k" * 64,
        "origin": "https://site.test",
        "group": "site.test",
        "job_id": "job",
        "execution_id": "run",
        "crawl_spec_id": "spec",
        "fetch_sequence": 7,
        "lease_id": "3-a1-7",
        "try_number": 1,
        "issued_at_ms": 1,
        "lease_expires_at_ms": 2,
        "shard": 3,
    }
    return FetchRequested(url=url, **told | more)


def head(status: int = 200, **headers: str) -> ResponseHead:
    """Make a head; underscores in names stand for dashes."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return head_of(status, raw)


def answer(body: bytes = b"", *, status: int = 200, **headers: Any) -> FetchedResponse:
    return FetchedResponse(head(status, **headers), body, len(body))


TRACE = RequestTrace(
    marked_at_us=1_000_000,
    started_at_us=1_200_000,
    completed_at_us=1_700_000_000_000_000,
    worker_id="w",
    user_agent="Strider/1.0 (+https://example.org/bot)",
)
