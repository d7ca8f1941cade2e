"""Every service is killed in turn in the middle of a crawl, and the end is the same.

Nothing is lost, nothing is stored twice, no host is asked in haste. What a killed fetcher had in hand
is asked once more, and nothing else is.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.testing.site import EXCLUDED, Shape, Site, serve_site

from .checks import asked_too_often, assert_only_known_urls_were_asked, assert_polite
from .ring import DELAY_SECONDS, SERVICES, Ring

JOB = "killed"
SHAPE = Shape(hosts=6, pages_per_host=40, slow_seconds=1.0, latency_seconds=0.2, has_excluded=True)
REQUEST_SECONDS = 5.0
"""Of one request; so long, and a little more, its host waits for a fetcher that is gone."""
TURN_SECONDS = 150.0
END_SECONDS = 300.0

pytestmark = pytest.mark.timeout(1200)


@dataclass(frozen=True, slots=True)
class FetcherKill:
    """How things stood when the fetcher was killed."""

    at: float
    told: int
    """Requests of this crawl whose outcome it had told by then."""

    def in_hand(self, site: Site) -> int:
        """Count requests that were begun before and told to nobody."""
        return sum(line.started < self.at for line in site.access()) - self.told


async def _kill_each(ring: Ring, site: Site, *, outcomes_before: int) -> FetcherKill:
    """Kill every service once, the next one when the ring goes round again."""
    fetcher = None
    for name in SERVICES:
        await ring.until_asked(site, more=SHAPE.hosts, seconds=TURN_SECONDS)
        ring.services[name].kill()
        if name == "fetcher":
            fetcher = FetcherKill(time.monotonic(), await ring.outcomes() - outcomes_before)
        ring.start(name)
        await ring.services[name].until_ready()
    assert fetcher is not None
    return fetcher


@pytest.mark.req("S3.4.3")
async def test_a_kill_of_any_service_changes_nothing(ring: Ring, tmp_path: Path) -> None:
    spec = CrawlSpecDeclared(
        "", scope="any", max_depth=10, exclude=(EXCLUDED,), request_timeout_seconds=REQUEST_SECONDS
    )
    with serve_site(31, SHAPE, log=tmp_path / "access.log", name="killed") as site:
        outcomes_before = await ring.outcomes()
        ring.sow(site, job_id=JOB, crawl_spec_id=ring.declare(spec))
        fetcher = await _kill_each(ring, site, outcomes_before=outcomes_before)
        await ring.until_told(site, JOB, seconds=END_SECONDS)
        pages, decisions = await ring.pages(JOB), await ring.decisions(JOB)
    extra, in_hand = sum(asked_too_often(site).values()), fetcher.in_hand(site)

    # The figures are what this test is run for.
    print(f"\nKILLS of {len(SERVICES)}: in-hand={in_hand} asked-again={extra}")  # noqa: T201  # see above
    assert Counter(row["url"] for row in pages) == Counter(site.plan.pages)
    assert {row["url"]: row["reason"] for row in decisions} == site.plan.decided
    assert extra <= in_hand <= SHAPE.hosts
    assert_only_known_urls_were_asked(site)
    assert_polite(site, delay_seconds=DELAY_SECONDS)
    assert [name for name, each in ring.services.items() if each.exit_code is not None] == []
