"""One seed goes in, and a whole site comes out: every page once, every refusal with its reason."""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pytest
from confluent_kafka import Consumer

from strider.testing.site import ServedSite, SiteShape, serve_site
from tests.processes.waiting import until

from .checks import (
    asked_too_often,
    assert_only_known_urls_were_asked,
    assert_polite,
    assert_robots_came_first,
)
from .pipeline import DELAY_SECONDS, Ring, running_ring

SHAPE = SiteShape(hosts=4, pages_per_host=12, slow_seconds=1.0, trap_depth=10, has_excluded=True)
CRAWL_SECONDS = 120.0
RELEASED = Path(__file__).parents[2] / "schemas" / "released"

pytestmark = pytest.mark.timeout(300)


@dataclass(frozen=True, slots=True)
class Crawl:
    """A crawl that has ended, and all that is known of it."""

    site: ServedSite
    pages: list[dict[str, Any]]
    decisions: list[dict[str, Any]]
    urls: list[dict[str, Any]]
    metrics: dict[str, float]
    """Of fetcher and scheduler, directly after the end."""


@pytest.fixture(scope="module")
def ring() -> Iterator[Ring]:
    """A pipeline of its own, whose counts are those of one crawl."""
    with running_ring() as ring:
        yield ring


@pytest.fixture(scope="module")
def crawl(ring: Ring, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    log: Path = tmp_path_factory.mktemp("site") / "access.log"
    with serve_site(2026, SHAPE, log=log, name="whole") as site:
        ring.sow(site, is_owner=False)

        async def read() -> Crawl:
            await ring.until_told(site, "adhoc", seconds=CRAWL_SECONDS)
            await until(
                lambda: _is_closed(ring), what="the table of URLs is closed", tell=ring.tell, seconds=60
            )
            told = (await ring.pages("adhoc"), await ring.decisions("adhoc"), await ring.urls("adhoc"))
            return Crawl(site, *([dict(row) for row in rows] for rows in told), await _metrics(ring))

        yield asyncio.run(read())


async def _metrics(ring: Ring) -> dict[str, float]:
    fetcher, scheduler = ring.services["fetcher"], ring.services["scheduler"]
    names = (
        "crawler_pages_fetched_total",
        "crawler_pages_per_second",
        "crawler_fetch_success_rate",
        "crawler_http_status_total",
    )
    found = {name: await fetcher.metric(name) for name in names}
    denials = "crawler_robots_denials_total"
    return (
        found
        | {"status 404": await fetcher.metric(names[-1], status="404")}
        | {denials: await scheduler.metric(denials)}
    )


async def _is_closed(ring: Ring) -> bool:
    urls = await ring.urls("adhoc")
    return bool(urls) and all(row["closed_at"] for row in urls)


@pytest.mark.req("S3.1.2", "S3.2.1", "S4.8.2")
@pytest.mark.req("S3.1.1", part="over HTTP")
@pytest.mark.req("S3.2.5", part="no duplicate URLs")
@pytest.mark.req("S3.4.10", part="from seeds around the ring to stored pages")
def test_every_reachable_page_is_one_row(crawl: Crawl) -> None:
    """What the site's own seed says is there, and nothing else."""
    stored = Counter(row["url"] for row in crawl.pages)

    assert stored == Counter(crawl.site.plan.pages)


@pytest.mark.req("S3.2.2")
def test_every_url_without_a_page_has_its_reason(crawl: Crawl) -> None:
    told = {row["url"]: row["reason"] for row in crawl.decisions}

    assert told == crawl.site.plan.decided_without_page


@pytest.mark.req("S3.4.8", "S3.7.2", "S3.11.3", "S3.11.4")
@pytest.mark.req("S3.6.3", part="fetched, failed and blocked")
def test_every_url_of_the_frontier_has_its_state(crawl: Crawl) -> None:
    status = {row["url"]: row["status"] for row in crawl.urls}
    plan = crawl.site.plan

    assert {status.get(url) for url in plan.pages} == {"fetched"}
    assert plan.forbidden
    assert {status.get(url) for url in plan.forbidden} == {"blocked"}
    assert set(plan.failures.values()) >= {"not_found", "retries_exhausted"}
    assert {status.get(url) for url in plan.failures} == {"failed"}


@pytest.mark.req("S4.8.2")
@pytest.mark.req("S3.2.5", part="no duplicate URLs")
@pytest.mark.req("S3.10.9", part="no URL is requested twice; the key in Redis has another name")
def test_no_url_is_requested_twice(crawl: Crawl) -> None:
    """Failures are tried again as often as the retry policy says, and everything else is asked once."""
    assert crawl.site.request_counts() == Counter(crawl.site.plan.requests)


@pytest.mark.req("S3.1.3", "S3.2.4", "S3.4.5", "S3.8.1", "S3.8.4", "S3.17.3")
def test_the_rules_of_each_host_come_first_and_are_kept(crawl: Crawl) -> None:
    assert_robots_came_first(crawl.site)
    assert_only_known_urls_were_asked(crawl.site)
    assert asked_too_often(crawl.site) == {}


@pytest.mark.req("S3.1.3", "S3.2.4", "S3.12.1")
def test_the_delay_is_kept_and_one_request_at_a_time(crawl: Crawl) -> None:
    assert_polite(crawl.site, delay_seconds=DELAY_SECONDS)


@pytest.mark.req("S3.1.4", "S3.2.3", "S3.9.2", "S3.9.4")
def test_pages_carry_their_own_facts(crawl: Crawl) -> None:
    """Title, description, text, links and depth of a page in the middle, and where it was found."""
    origin = crawl.site.plan.origins[0]
    (page,) = (row for row in crawl.pages if row["url"] == f"{origin}/p/5")

    assert (page["title"], page["depth"], page["referrer"], page["status_code"]) == (
        f"Page 5 of {origin[7:]}",
        2,
        f"{origin}/p/1",
        200,
    )
    assert page["description"] == f"About {page['title']}"
    assert page["links_count"] > 0
    assert page["text_length"] > SHAPE.filler_bytes


@pytest.mark.req("S3.14.1", "S3.14.2", "S3.14.3", "S3.14.4", "S3.14.6")
def test_metrics_count_what_was_fetched_and_denied(crawl: Crawl) -> None:
    """The processes may have counted an earlier crawl too."""
    plan, found = crawl.site.plan, crawl.metrics
    missing = [url for url, reason in plan.failures.items() if reason == "not_found"]

    assert found["crawler_pages_fetched_total"] >= len(plan.pages)
    assert found["crawler_pages_per_second"] > 0
    assert 0 < found["crawler_fetch_success_rate"] < 1
    assert found["crawler_http_status_total"] > found["crawler_pages_fetched_total"]
    assert found["status 404"] >= len(missing) > 0
    assert found["crawler_robots_denials_total"] >= len(plan.forbidden) > 0


@pytest.mark.req("S1.9.1")
def test_a_redirected_page_knows_its_way(crawl: Crawl) -> None:
    origin = crawl.site.plan.origins[0]
    (page,) = (row for row in crawl.pages if row["url"] == f"{origin}/chain/3")

    assert json.loads(page["redirect_chain"]) == [f"{origin}/chain/{step}" for step in range(3)]


@pytest.mark.req("S5.2.11")
def test_a_foreign_consumer_group_reads_pages_by_the_released_schemas(crawl: Crawl, ring: Ring) -> None:
    """With another client and another Avro library; the fingerprint in front of a page names its schema."""
    manifest = json.loads((RELEASED / "manifest.json").read_text())
    schemas = {
        entry["fingerprint"]: fastavro.parse_schema(json.loads((RELEASED / f"{name}.avsc").read_text()))
        for name, entry in manifest.items()
    }
    settings = {"bootstrap.servers": ring.servers.kafka.address, "group.id": "foreign"}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
    consumer.subscribe(["pages-validated"])
    found, deadline = set[str](), time.monotonic() + 60
    while not found >= crawl.site.plan.pages and time.monotonic() < deadline:
        if (record := consumer.poll(1.0)) is not None and record.error() is None:
            value = record.value() or b""
            assert value[:2] == b"\xc3\x01"
            event = fastavro.schemaless_reader(io.BytesIO(value[10:]), schemas[value[2:10].hex()], None)
            found.add(event["page"]["url"])
    consumer.close()

    assert found >= crawl.site.plan.pages
