"""A crawl on three brokers, of which each is killed once in its middle: the end is as if none had been."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.testing.kafka_cluster import KafkaCluster
from strider.testing.site import EXCLUDED, ServedSite, SiteShape, serve_site
from tests.processes.waiting import until_whole

from .checks import asked_too_often, assert_only_known_urls_were_asked, assert_polite
from .pipeline import DELAY_SECONDS, Ring, running_ring

NODES = 3
JOB = "clustered"
SHAPE = SiteShape(hosts=3, pages_per_host=12, slow_seconds=1.0, latency_seconds=0.2, has_excluded=True)
TURN_SECONDS = 150.0
END_SECONDS = 300.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture
def wide_ring() -> Iterator[Ring]:
    with running_ring(counts_statements=False, nodes=NODES) as ring:
        yield ring


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Sequence[ServedSite]]:
    with ExitStack() as served:
        yield [
            served.enter_context(
                serve_site(61 + number, SHAPE, log=tmp_path / f"{number}.log", name=f"n{number}-clustered")
            )
            for number in range(NODES)
        ]


@pytest.mark.fault("F5")
async def test_a_kill_of_each_broker_changes_nothing(wide_ring: Ring, sites: Sequence[ServedSite]) -> None:
    ring, cluster = wide_ring, wide_ring.servers.kafka
    assert isinstance(cluster, KafkaCluster)
    spec_id = ring.declare(CrawlSpecDeclared("", scope="any", max_depth=10, exclude=(EXCLUDED,)))
    for node, site in zip(cluster.nodes, sites, strict=True):
        ring.sow(site, job_id=JOB, crawl_spec_id=spec_id)
        await ring.until_asked(site, more=SHAPE.hosts, seconds=TURN_SECONDS)
        node.kill()
        await ring.until_asked(site, more=2 * SHAPE.hosts, seconds=TURN_SECONDS)
        await asyncio.to_thread(node.start)
        await until_whole(cluster)
    for site in sites:
        await ring.until_told(site, JOB, seconds=END_SECONDS)
    pages, decisions = await ring.pages(JOB), await ring.decisions(JOB)

    assert Counter(row["url"] for row in pages) == Counter(url for site in sites for url in site.plan.pages)
    decided = {url: reason for site in sites for url, reason in site.plan.decided_without_page.items()}
    assert {row["url"]: row["reason"] for row in decisions} == decided
    for site in sites:
        assert asked_too_often(site) == Counter()
        assert_only_known_urls_were_asked(site)
        assert_polite(site, delay_seconds=DELAY_SECONDS)
    assert [name for name, each in ring.services.items() if each.exit_code is not None] == []
