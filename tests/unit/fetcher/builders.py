"""Builders of requests and responses, and a manual clock, for the tests of the fetcher."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from strider.contracts.generated.events import FetchRequested
from strider.fetcher.core import FetchedResponse, RequestTrace, ResponseHead, decode_head

URL = "https://site.test/a"


def a_request(url: str = URL, **more: Any) -> FetchRequested:
    """Return a request; everything that a test is not about is filled in."""
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


def a_head(status: int = 200, **headers: str) -> ResponseHead:
    """Return a head; underscores in names stand for dashes."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return decode_head(status, raw)


def a_response(body: bytes = b"", *, status: int = 200, **headers: Any) -> FetchedResponse:
    return FetchedResponse(a_head(status, **headers), body, len(body))


TRACE = RequestTrace(
    marked_at_us=1_000_000,
    started_at_us=1_200_000,
    completed_at_us=1_700_000_000_000_000,
    worker_id="w",
    user_agent="Strider/1.0 (+https://example.org/bot)",
)


class ManualClock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        await asyncio.sleep(0)
