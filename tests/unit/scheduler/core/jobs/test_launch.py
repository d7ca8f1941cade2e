"""What a launch publishes: the crawl spec that `strider explain` shows, and seeds of the right kinds."""

from __future__ import annotations

from typing import Any

import pytest

from strider.contracts.generated.events import SourceSaved
from strider.crawl.sources.spec_mapping import spec_of_source
from strider.jobs.models import Launch
from strider.messaging.inprocess import EventLoopClock
from strider.scheduler.core.jobs.launch import LaunchFault, plan_launch
from tests.unit.scheduler.simulation.jobs.memory_store import MemoryJobStore

SITE = "https://site.test"
SOURCE = SourceSaved(
    "news",
    "News",
    f"{SITE}/",
    start_urls=(f"{SITE}/a", f"{SITE}/#top"),
    feed_urls=(f"{SITE}/feed.xml",),
    sitemap_urls=(f"{SITE}/sitemap.xml",),
    max_depth=2,
    delay_seconds=3.0,
)


async def a_launch(**job: Any) -> Launch:
    store = MemoryJobStore(EventLoopClock())
    store.add(job_id="job", source_id="news", **{"url": SOURCE.url, **job})
    (claimed,) = await store.claim_due(now_ms=await store.now_ms(), limit=1, token="t")
    return claimed


async def test_the_crawl_spec_is_that_of_source_and_job() -> None:
    launch = await a_launch(crawl_settings={"max_depth": 1, "extraction": "records"})

    plan = plan_launch(launch, SOURCE)

    assert plan.spec == spec_of_source(SOURCE, launch.job.crawl_settings)
    assert (plan.spec.max_depth, plan.spec.extraction, plan.spec.delay_seconds) == (1, "records", 3.0)
    assert {seed.crawl_spec_id for seed in (*plan.seeds, plan.closing)} == {plan.spec.crawl_spec_id}


@pytest.mark.parametrize(
    ("url", "pages"),
    [
        pytest.param(f"{SITE}/", [f"{SITE}/", f"{SITE}/a"], id="that of the source"),
        pytest.param(f"{SITE}:443/#x", [f"{SITE}/", f"{SITE}/a"], id="the same in another form"),
        pytest.param(f"{SITE}/b", [f"{SITE}/b"], id="another one"),
    ],
)
async def test_a_run_starts_from_pages_feeds_and_sitemaps(url: str, pages: list[str]) -> None:
    plan = plan_launch(await a_launch(url=url), SOURCE)

    assert [(seed.url, seed.kind) for seed in plan.seeds] == [
        *((page, "page") for page in pages),
        (f"{SITE}/feed.xml", "feed"),
        (f"{SITE}/sitemap.xml", "sitemap"),
    ]


async def test_the_list_of_a_url_that_cannot_be_crawled_is_named() -> None:
    wrong = SourceSaved("news", "News", f"{SITE}/", feed_urls=("http://[1",))

    with pytest.raises(LaunchFault, match=r"feed_urls of the source 'news': .* cannot be crawled"):
        plan_launch(await a_launch(), wrong)
