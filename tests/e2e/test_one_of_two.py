"""Two fetchers share the work; one is killed in the middle of it, and none is started in its place."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.testing.site import EXCLUDED, SiteShape, serve_site

from .checks import assert_only_known_urls_were_asked, assert_polite
from .pipeline import DELAY_SECONDS, Ring

JOB = "one-of-two"
SHAPE = SiteShape(hosts=6, pages_per_host=6, latency_seconds=0.3, has_excluded=True)
REQUEST_SECONDS = 5.0
"""Of one request; a host waits so long, and a little more, for a fetcher that is gone."""
TURN_SECONDS = 60.0
END_SECONDS = 180.0

pytestmark = pytest.mark.timeout(400)


@pytest.mark.req("S3.12.1", "S3.19.31")
@pytest.mark.req("S3.2.9", part="one of two fetchers fails, and the other goes on")
@pytest.mark.req(
    "S3.19.28",
    part="what a lost fetcher had in hand is requested again after its lease; no job every five minutes",
)
@pytest.mark.req("S5.1.1", part="a second fetcher beside the first")
async def test_the_other_fetcher_continues_and_repeats_requests_that_were_in_flight(
    ring: Ring, tmp_path: Path
) -> None:
    """A fleet must live with the loss of a worker: its URLs are stale for a while, and lost never."""
    first = ring.services["fetcher"]
    second = ring.start("fetcher")
    await second.until_ready()
    await second.until(lambda: second.partitions > 0, what="has its share")
    spec = CrawlSpecDeclared(
        "", scope="any", max_depth=10, exclude=(EXCLUDED,), request_timeout_seconds=REQUEST_SECONDS
    )
    with serve_site(77, SHAPE, log=tmp_path / "access.log", name=JOB) as site:
        ring.sow(site, job_id=JOB, crawl_spec_id=ring.declare(spec))
        await ring.until_asked(site, more=2 * SHAPE.hosts, seconds=TURN_SECONDS)

        first.kill()

        await ring.until_told(site, JOB, seconds=END_SECONDS)
        pages = await ring.pages(JOB)
        assert Counter(row["url"] for row in pages) == Counter(site.plan.pages)
        assert_only_known_urls_were_asked(site)
        assert_polite(site, delay_seconds=DELAY_SECONDS)
        assert second.exit_code is None
