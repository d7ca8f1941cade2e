"""Every service is killed in turn in the middle of a crawl, and the end is the same.

Nothing is lost, nothing is stored twice, no host is asked in haste. What a killed fetcher had in flight is
requested once more, and nothing else is.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.testing.site import EXCLUDED, ServedSite, SiteShape, serve_site
from tests.figures import record_figure

from .checks import asked_too_often, assert_only_known_urls_were_asked, assert_polite
from .pipeline import DELAY_SECONDS, SERVICES, Ring

JOB = "killed"
SHAPE = SiteShape(hosts=3, pages_per_host=12, slow_seconds=1.0, latency_seconds=0.2, has_excluded=True)
"""One site for each kill: of a single one a busy machine would crawl the rest while a service starts."""
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

    def in_hand(self, sites: Sequence[ServedSite]) -> int:
        """Count requests that were begun before and whose outcome was never published."""
        return sum(line.started < self.at for site in sites for line in site.access_log()) - self.told


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Sequence[ServedSite]]:
    with ExitStack() as served:
        yield [
            served.enter_context(
                serve_site(31 + number, SHAPE, log=tmp_path / f"{name}.log", name=f"{name}-killed")
            )
            for number, name in enumerate(SERVICES)
        ]


async def _kill_each(ring: Ring, sites: Sequence[ServedSite], *, spec_id: str) -> FetcherKill:
    """Kill every service once, each in the middle of a site of its own."""
    fetcher = None
    outcomes_before = await ring.outcomes()
    for name, site in zip(SERVICES, sites, strict=True):
        ring.sow(site, job_id=JOB, crawl_spec_id=spec_id)
        await ring.until_asked(site, more=2 * SHAPE.hosts, seconds=TURN_SECONDS)
        ring.services[name].kill()
        if name == "fetcher":
            fetcher = FetcherKill(time.monotonic(), await ring.outcomes() - outcomes_before)
        ring.start(name)
        await ring.services[name].until_ready()
    assert fetcher is not None
    return fetcher


def _tell_repeats(sites: Sequence[ServedSite], fetcher: FetcherKill) -> str:
    """When what was asked too often was asked, in seconds after the fetcher was killed."""
    repeats = {
        url: [
            (round(line.started - fetcher.at, 2), round(line.ended - fetcher.at, 2), line.status)
            for line in site.access_log()
            if line.url == url
        ]
        for site in sites
        for url in asked_too_often(site)
    }
    return "\n".join(f"{url}: {times}" for url, times in repeats.items())


@pytest.mark.fault("F1", part="each of eight services once, under a crawl")
@pytest.mark.req("S2.0.1", "S3.2.11", "S3.4.3", "S5.2.9")
@pytest.mark.req("S5.1.1", part="each service is killed alone")
async def test_a_kill_of_any_service_changes_nothing(ring: Ring, sites: Sequence[ServedSite]) -> None:
    spec = CrawlSpecDeclared(
        "", scope="any", max_depth=10, exclude=(EXCLUDED,), request_timeout_seconds=REQUEST_SECONDS
    )
    fetcher = await _kill_each(ring, sites, spec_id=ring.declare(spec))
    for site in sites:
        await ring.until_told(site, JOB, seconds=END_SECONDS)
    pages, decisions = await ring.pages(JOB), await ring.decisions(JOB)
    repeats = Counter(url for site in sites for url in asked_too_often(site).elements())
    extra, in_hand = repeats.total(), fetcher.in_hand(sites)

    record_figure(f"kills={len(SERVICES)} in-flight={in_hand} refetched={extra}")
    assert Counter(row["url"] for row in pages) == Counter(url for site in sites for url in site.plan.pages)
    decided = {url: reason for site in sites for url, reason in site.plan.decided_without_page.items()}
    assert {row["url"]: row["reason"] for row in decisions} == decided
    assert extra <= in_hand <= SHAPE.hosts * len(sites), _tell_repeats(sites, fetcher)
    for site in sites:
        assert_only_known_urls_were_asked(site)
        assert_polite(site, delay_seconds=DELAY_SECONDS)
    assert [name for name, each in ring.services.items() if each.exit_code is not None] == []
