"""What is around the scheduler in tests: a fetcher that asks a made-up web, and a ring that settles pages.

Runs on any bus and any marks, so that the same crawl serves in virtual time and on real servers.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from strider.contracts.generated.events import (
    FetchCompleted,
    FetchRequested,
    LinksDiscovered,
    PageSettled,
)
from strider.contracts.generated.topics import FETCHES_COMPLETED, LINKS_DISCOVERED, PAGES_SETTLED
from strider.contracts.partitioning import shard_of_host
from strider.frontier.models import StartResult
from strider.frontier.ports import LeaseMarks
from strider.messaging.effects import Effects, Publish
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock, Record
from strider.runtime.publishing.publisher import EventPublisher
from strider.urls import url_hash, url_key_of

from .web import Answer, Visit, Web

SHARDS = 3


def key_of_url(url: str) -> str:
    return url_hash(url_key_of(url))


PARCEL = 500
"""Links of one message."""


def links_event(
    urls: Sequence[str],
    *,
    shard: int,
    via: str = "link",
    page: str = "",
    offset: int = -1,
    **changes: Any,
) -> LinksDiscovered:
    """One message of links for one shard, all from one page or seed."""
    count = len(urls)
    seeds = (
        {
            "seed_topics": ("seeds",) * count,
            "seed_partitions": (0,) * count,
            "seed_offsets": (offset,) * count,
        }
        if offset >= 0
        else {}
    )
    return LinksDiscovered(
        **{
            "shard": shard,
            "shards": SHARDS,
            "urls": tuple(urls),
            "url_keys": tuple(map(key_of_url, urls)),
            "from_at": (0,) * count,
            "from_vias": (via,),
            "from_urls": (page,),
            "from_url_keys": (key_of_url(page) if page else "",),
            "from_job_ids": ("job",),
            "from_execution_ids": ("run",),
            "from_crawl_spec_ids": ("spec",),
            "from_fetch_sequences": (0,),
            "depths": (0 if via == "seed" else 1,) * count,
            "priorities": (3 if via == "seed" else 1,) * count,
            "start_flags": (via == "seed",) * count,
            **seeds,
            **changes,
        }
    )


@dataclass
class Ring:
    """The fetcher, and everything behind it."""

    web: Web
    speaker: EventPublisher
    clock: Clock
    marks: LeaseMarks
    seed: int = 1
    shards: int = SHARDS
    haste: float = 1.0
    """By how much faster than they say the made-up hosts answer."""
    lost_outcomes: float = 0.0
    """Share of requests whose fetcher dies with them: the site was asked, and nobody hears of it."""
    swallows: Callable[[str, int], bool] = lambda _url, _time: False
    """Which pages vanish between two services: by URL and how often it went onto the ring before."""
    round_seconds: float = 2.0
    """Longest time that a page takes."""
    told: dict[str, Any] = field(default_factory=dict)
    """What differs in messages of links: job and run."""

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.running: set[asyncio.Task[Any]] = set()
        self.lost = 0
        self.begun = 0
        """Pages that went onto the ring."""
        self.goes_on = asyncio.Event()
        """Cleared while a service of the ring stands: pages that come to it wait."""
        self.goes_on.set()
        self._unpassed: set[int] = set()
        self._times: Counter[str] = Counter()
        self.offset = 0

    async def submit(self, url: str) -> None:
        """Have link-ingestion pass on a seed."""
        self.offset += 1
        await self.discover([url], via="seed", offset=self.offset)

    def spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self.running.add(task)
        return task

    def check(self) -> None:
        """Say at once when something of the world has died."""
        for task in self.running:
            if task.done() and not task.cancelled() and task.exception():
                raise AssertionError("something ended") from task.exception()

    async def fetch(self, request: FetchRequested, _record: Record) -> Effects:
        """Be the fetcher: mark, ask the web, say how it ended."""
        (mark,) = await self.marks.mark_started(
            [(request.shard, request.lease_id)], nonce=request.lease_id, deadline_ms=request.deadline_ms
        )
        if mark.result is StartResult.GONE:
            return Effects(outcome="lease_gone")
        found = self.web.answer(request.url, self.random)
        answer = _within(request, replace(found, seconds=found.seconds * self.haste))
        began = self.clock.monotonic()
        await self.clock.sleep(answer.seconds)
        host = urlsplit(request.url).hostname or ""
        self.web.log.append(
            Visit(request.url, host, began, self.clock.monotonic(), answer.outcome, answer.size)
        )
        is_page = answer.outcome == "fetched" and request.kind == "page"
        is_lost = self.random.random() < self.lost_outcomes
        self.lost += is_lost
        if is_page and not (is_lost and self.random.random() < 0.5):
            self._unpassed.add(self.begun)
            self.spawn(self._go_round(request, answer, number=self.begun))
            self.begun += 1
        if is_lost:
            return Effects(outcome="died")
        await self.clock.sleep(self.random.uniform(0, 0.3) * self.haste)
        outcome = completed(request, answer, mark.now_us, page=is_page)
        return Effects(publish_last=(Publish(FETCHES_COMPLETED, outcome),))

    @property
    def passed(self) -> int:
        """How many pages have gone round, or vanished, without one before them being on its way."""
        return min(self._unpassed, default=self.begun)

    async def _go_round(self, request: FetchRequested, answer: Answer, *, number: int) -> None:
        """Be the rest of the ring: links first, then the settlement; often faster than the outcome."""
        await self.clock.sleep(self.random.uniform(0, self.round_seconds) * self.haste)
        await self.goes_on.wait()
        time, self._times[request.url] = self._times[request.url], self._times[request.url] + 1
        if not self.swallows(request.url, time):
            await self._settle(request, answer)
        self._unpassed.remove(number)

    async def _settle(self, request: FetchRequested, answer: Answer) -> None:
        await self.discover(answer.links, page=request.url)
        settled = PageSettled(
            url_key=request.url_key,
            group=request.group,
            job_id=request.job_id,
            execution_id=request.execution_id,
            fetch_sequence=request.fetch_sequence,
            verdict="valid",
            settled_at_ms=1,
            url=request.url,
            text_hash="t",
            status=answer.status,
            total_us=round(answer.seconds * 1_000_000),
            body_bytes=answer.size,
        )
        await self._speak([Publish(PAGES_SETTLED, settled)])

    async def discover(self, urls: Sequence[str], **how: Any) -> None:
        by_shard: dict[int, list[str]] = {}
        for url in urls:
            by_shard.setdefault(shard_of_host(urlsplit(url).hostname or "", self.shards), []).append(url)
        await self._speak(
            [
                Publish(
                    LINKS_DISCOVERED, self._links(each[first : first + PARCEL], shard, how), partition=shard
                )
                for shard, each in by_shard.items()
                for first in range(0, len(each), PARCEL)
            ]
        )

    async def _speak(self, says: Sequence[Publish]) -> None:
        """Speak, as patiently as a service does."""
        while True:
            try:
                return await self.speaker.publish(says)
            except Unavailable:
                await self.clock.sleep(1)

    def _links(self, urls: Sequence[str], shard: int, how: dict[str, Any]) -> LinksDiscovered:
        return links_event(urls, shard=shard, shards=self.shards, **(self.told | how))


def _within(request: FetchRequested, answer: Answer) -> Answer:
    """Hold an answer to what its request may cost, as the fetcher does."""
    if answer.seconds * 1000 > request.deadline_ms:
        return Answer("timed_out", error_class="total_timeout", seconds=request.deadline_ms / 1000)
    if answer.size > request.max_body_bytes:
        return replace(answer, outcome="too_large", error_class="body_too_large", size=request.max_body_bytes)
    return answer


def completed(request: FetchRequested, answer: Answer, marked_at_us: int, *, page: bool) -> FetchCompleted:
    """Say how a request ended."""
    is_robots = request.kind == "robots"
    return FetchCompleted(
        url=request.url,
        url_key=request.url_key,
        origin=request.origin,
        group=request.group,
        job_id=request.job_id,
        execution_id=request.execution_id,
        crawl_spec_id=request.crawl_spec_id,
        fetch_sequence=request.fetch_sequence,
        lease_id=request.lease_id,
        try_number=request.try_number,
        outcome=answer.outcome,
        completed_at_ms=1,
        kind=request.kind,
        hop=request.hop,
        depth=request.depth,
        has_page=page,
        status=answer.status,
        error_class=answer.error_class,
        body_bytes=answer.size,
        total_us=round(answer.seconds * 1_000_000),
        started_at_us=marked_at_us if answer.status else 0,
        before_connect=not answer.status,
        redirect_target=answer.target,
        redirect_target_key=key_of_url(answer.target) if answer.target else "",
        retry_after_seconds=answer.retry_after,
        robots_text=answer.robots_text if is_robots else "",
    )
