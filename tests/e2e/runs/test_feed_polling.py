"""Feeds on the whole pipeline: found by one switch, polled by another, in a run of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from strider.contracts.seed_names import feed_run_of
from strider.testing.site.plan import page_html, sentences
from tests.e2e.hostile_producer.attackers import AttackerSite, Reply, attacker_site, robots_allowing
from tests.e2e.pipeline import Ring
from tests.processes.waiting import until

from .test_run_ends import ended, events_of, strider

END_SECONDS = 240.0
HTML = {"Content-Type": "text/html; charset=utf-8"}
FEED = "/feed.xml"
NO_FEED = "/feed-of-nothing.xml"

pytestmark = pytest.mark.timeout(900)


@dataclass
class NewsSite:
    """A site whose front page names a feed and a page that is none; the feed has an ETag."""

    items: list[str] = field(default_factory=lambda: ["/news/1"])
    is_gone: bool = False
    site: AttackerSite = field(init=False)
    statuses: list[int] = field(default_factory=list)
    """Of the responses to requests for the feed."""

    def reply(self, path: str) -> Reply:
        if (robots := robots_allowing(path)) is not None:
            return robots
        if path == FEED:
            feed = self._feed()
            self.statuses.append(feed[0])
            return feed
        page = page_html(f"Page {path}", sentences(Random(path), 1_500), ["/"])
        if path == "/":
            links = [
                f'<link rel="alternate" type="application/rss+xml" href="{to}">' for to in (FEED, NO_FEED)
            ]
            page = page.replace(b"</head>", "".join(links).encode() + b"</head>")
        return 200, HTML, page

    def _feed(self) -> Reply:
        if self.is_gone:
            return 410, HTML, b"gone"
        etag = f'"{len(self.items)}"'
        asked = [headers for path, headers in self.site.requests if path == FEED][-1]
        if asked.get("If-None-Match") == etag:
            return 304, {"ETag": etag}, b""
        items = "".join(f"<item><title>{each}</title><link>{each}</link></item>" for each in self.items)
        text = f'<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>{items}</channel></rss>'
        return 200, {"Content-Type": "application/rss+xml", "ETag": etag}, text.encode()

    @property
    def requested(self) -> Counter[str]:
        return Counter(path for path, _ in self.site.requests)


@pytest.fixture
def news() -> Iterator[NewsSite]:
    with ExitStack() as served:
        news = NewsSite()
        news.site = served.enter_context(attacker_site(news.reply, address="127.9.8.2"))
        yield news


async def rows_of(ring: Ring, news: NewsSite, job: str) -> dict[str, Any]:
    """Return the entries of a job by path."""
    return {row["url"].removeprefix(news.site.origin): row for row in await ring.urls(job)}


async def until_entries(ring: Ring, news: NewsSite, job: str, expected: dict[str, tuple[str, str]]) -> None:
    """Wait until entries have a state and a reason."""
    found: dict[str, Any] = {}

    async def is_so() -> bool:
        rows = await rows_of(ring, news, job)
        found.update({path: (row["state"], row["reason"]) for path, row in rows.items()})
        return expected.items() <= found.items()

    def seen() -> str:
        return f"{found}, feed: {news.statuses}, requested: {news.requested}\n{ring.tell()}"

    await until(is_so, what=f"the entries {expected}", tell=seen, seconds=END_SECONDS)


async def until_read(ring: Ring, news: NewsSite, job: str, statuses: list[int]) -> None:
    """Wait until the feed was requested with these results, and waits for its next poll."""

    async def is_read() -> bool:
        return len(news.statuses) >= len(statuses)

    def seen() -> str:
        return f"feed: {news.statuses}, requested: {news.requested}\n{ring.tell()}"

    await until(is_read, what=f"the feed is read with {statuses}", tell=seen, seconds=END_SECONDS)
    assert news.statuses == statuses


async def crawl_once(ring: Ring, news: NewsSite, job: str, **fields: Any) -> None:
    """Crawl the front page, and wait for the end of that run."""
    run = f"{job}-1"
    ring.sow_documents({"url": f"{news.site.origin}/", "job_id": job, "run": run, **fields})
    ring.sow_documents({"job_id": job, "run": run, "close": True})

    async def is_over() -> bool:
        return bool([each for each in await events_of(ring, run) if each.what == "run_completed"])

    await until(is_over, what="the end of the run", tell=ring.tell, seconds=END_SECONDS)


@pytest.mark.req("S1.2.23", "S1.14.13", "S1.15.9")
@pytest.mark.req("S1.14.12", part="with polling, what a feed lists is crawled")
async def test_a_found_feed_is_polled_in_a_run_of_its_own(ring: Ring, news: NewsSite) -> None:
    """The run that finds it ends; new items are fetched once, a 304 costs nothing, a 410 ends it."""
    job = "news"
    await crawl_once(ring, news, job)
    waits = ("pending", "due_again")
    await until_entries(
        ring,
        news,
        job,
        {FEED: waits, "/news/1": ("completed", "settled"), NO_FEED: ("completed", "not_a_feed")},
    )

    async def poll_now(number: int) -> None:
        """A seed does not wait for the interval."""
        ring.sow_documents(
            {"url": news.site.origin + FEED, "kind": "feed", "job_id": job, "run": f"{job}-{number}"}
        )

    news.items.append("/news/2")
    await poll_now(2)
    await until_entries(ring, news, job, {FEED: waits, "/news/2": ("completed", "settled")})
    await poll_now(3)
    await until_read(ring, news, job, [200, 200, 304])
    await until_entries(ring, news, job, {FEED: waits})
    news.is_gone = True
    await poll_now(4)
    await until_entries(ring, news, job, {FEED: ("failed", "not_found")})

    assert {path: news.requested[path] for path in ("/", "/news/1", "/news/2", NO_FEED)} == dict.fromkeys(
        ("/", "/news/1", "/news/2", NO_FEED), 1
    )
    asked = [headers.get("If-None-Match") for path, headers in news.site.requests if path == FEED]
    assert asked == [None, '"1"', '"2"', '"2"']
    runs = {path: row["execution_id"] for path, row in (await rows_of(ring, news, job)).items()}
    in_run = feed_run_of(job)
    assert runs == {"/": f"{job}-1", FEED: in_run, NO_FEED: in_run, "/news/1": in_run, "/news/2": in_run}
    code, shown, told = await ended(await strider(ring, "why", news.site.origin + NO_FEED, "--job", job))
    assert code == 0, told
    assert "not_a_feed" in shown


@pytest.mark.req("S1.15.9", part="discovery without polling")
@pytest.mark.req("S1.14.13", part="discovery alone fetches no feed")
async def test_a_found_feed_that_is_not_polled_is_recorded(ring: Ring, news: NewsSite) -> None:
    job = "news-recorded"
    await crawl_once(ring, news, job, spec={"feed_poll_seconds": 0})
    reasons: list[str] = []

    async def is_recorded() -> bool:
        rows = await ring.decisions_about(news.site.origin + FEED)
        reasons[:] = [row["reason"] for row in rows if row["job_id"] == job]
        return bool(reasons)

    await until(is_recorded, what="the feed is recorded", tell=ring.tell, seconds=END_SECONDS)
    assert reasons == ["feed_not_polled"]
    assert (news.requested[FEED], news.requested["/"]) == (0, 1)


@pytest.mark.slow
@pytest.mark.req("S1.2.23", part="polls by themselves, at an interval of a minute")
async def test_a_feed_is_polled_by_itself(ring: Ring, news: NewsSite) -> None:
    job = "news-by-itself"
    await crawl_once(ring, news, job, spec={"feed_poll_seconds": 60})
    await until_entries(ring, news, job, {"/news/1": ("completed", "settled")})
    news.items.append("/news/2")

    await until_entries(ring, news, job, {"/news/2": ("completed", "settled")})

    assert news.statuses.count(200) == 2
    assert (news.requested["/news/1"], news.requested["/news/2"]) == (1, 1)
