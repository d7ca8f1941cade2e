"""One set of servers and one ring for all end-to-end tests: each crawls a site of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .pipeline import Ring, running_ring

FEED_SETTINGS = {
    "CRAWLER_FEED_DISCOVERY_ENABLED": "true",
    "CRAWLER_FEED_POLL_ENABLED": "true",
    "CRAWLER_FEED_POLL_SECONDS": "1800",
}
"""Feeds are polled every half hour; a crawl spec may say otherwise, and few sites here have any."""


@pytest.fixture(scope="package")
def ring() -> Iterator[Ring]:
    with running_ring(FEED_SETTINGS) as ring:
        yield ring
