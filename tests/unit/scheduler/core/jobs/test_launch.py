"""What a launch publishes: the crawl spec that `strider explain` shows, and seeds of the right kinds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.events import SourceSaved
from strider.crawl.sources.spec_mapping import spec_of_source
from strider.jobs.models import Launch
from strider.messaging.inprocess import EventLoopClock
from strider.scheduler.core.jobs.launch import LaunchFault, PermanentFault, plan_launch
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


@pytest.mark.parametrize(
    ("settings", "reasons"),
    [
        pytest.param({"schemes": ["http"]}, "4 refused_scheme https", id="scheme"),
        pytest.param({"allowed_ports": [8443]}, "4 refused_port 443", id="port"),
    ],
)
async def test_a_run_without_an_acceptable_start_url_is_not_launched(
    settings: dict[str, Any], reasons: str
) -> None:
    """Its error has the reasons, and a URL; where one start URL is accepted, the run is launched."""
    job = await a_launch(crawl_settings=settings)
    mixed = replace(SOURCE, start_urls=("http://site.test:8443/",))

    with pytest.raises(PermanentFault, match=f"{reasons}; the first is 'https://site.test/'"):
        plan_launch(job, SOURCE)
    assert plan_launch(job, mixed).seeds


async def test_a_private_start_url_is_launched_where_private_addresses_are_allowed() -> None:
    home = SourceSaved("news", "News", "http://127.0.0.1:8080/")
    job = await a_launch(url=home.url)

    with pytest.raises(PermanentFault, match="1 policy_blocked private_address"):
        plan_launch(job, home)
    assert plan_launch(job, home, allow_private=True).seeds
