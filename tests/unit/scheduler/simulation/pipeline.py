"""Simulated pipeline: a fetcher of a simulated web, and services that settle its pages.

Runs on any bus and any marks, so that the same crawl runs in virtual time and on real servers.
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

from .web import SimulatedResponse, Visit, Web

SHARDS = 3


def key_of_url(url: str) -> str:
    return url_hash(url_key_of(url))


LINKS_PER_MESSAGE = 500
"""Links in one message."""


def links_event(
    urls: Sequence[str],
    *,
    shard: int,
    via: str = "link",
    page: str = "",
    offset: int = -1,
    **changes: Any,
) -> LinksDiscovered:
    """Return a message of links for one shard, all from one page or seed."""
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
class SimulatedPipeline:
    """The fetcher, and all services after it."""

    web: Web
    publisher: EventPublisher
    clock: Clock
    marks: LeaseMarks
    seed: int = 1
    shards: int = SHARDS
    time_factor: float = 1.0
    """Factor on the response times of the simulated hosts."""
    lost_outcomes: float = 0.0
    """Share of requests whose fetcher dies: the site has served them, but no outcome is published."""
    loses_page: Callable[[str, int], bool] = lambda _url, _time: False
    """Whether a page is lost between two services: by URL and the number of its earlier fetches."""
    repeated_settlements: float = 0.0
    """Share of pages whose links and settlement are published again later, as after a kill."""
    settle_seconds: float = 2.0
    """Longest time until a page is settled."""
    texts: dict[str, str] = field(default_factory=dict)
    """Hashes of the texts of pages, by URL."""
    link_fields: dict[str, Any] = field(default_factory=dict)
    """Fields of link messages that differ from the default: job and run."""

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.running: set[asyncio.Task[Any]] = set()
        self.lost = 0
        self.begun = 0
        """Pages fetched."""
        self.is_running = asyncio.Event()
        """Cleared while a service is stopped: its pages wait."""
        self.is_running.set()
        self._describe_unsettled: set[int] = set()
        self._times: Counter[str] = Counter()
        self.offset = 0

    async def submit(self, url: str, *, kind: str = "page") -> None:
        """Publish a seed, as link-ingestion does."""
        self.offset += 1
        await self.discover([url], via="seed", offset=self.offset, kinds=(kind,))

    def spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self.running.add(task)
        return task

    def check(self) -> None:
        """Fail at once when a background task has failed."""
        for task in self.running:
            if task.done() and not task.cancelled() and task.exception():
                raise AssertionError("something ended") from task.exception()

    async def fetch(self, request: FetchRequested, _record: Record) -> Effects:
        """Act as the fetcher: mark the lease, fetch from the web, publish the outcome."""
        (mark,) = await self.marks.mark_started(
            [(request.shard, request.lease_id)], nonce=request.lease_id, deadline_ms=request.deadline_ms
        )
        if mark.result is StartResult.GONE:
            return Effects(outcome="lease_gone")
        found = self.web.respond(request.url, self.random, etag=request.etag)
        answer = _limit_response(request, replace(found, seconds=found.seconds * self.time_factor))
        began = self.clock.monotonic()
        await self.clock.sleep(answer.seconds)
        host = urlsplit(request.url).hostname or ""
        self.web.log.append(
            Visit(request.url, host, began, self.clock.monotonic(), answer.outcome, answer.size)
        )
        is_page = answer.outcome in {"fetched", "not_modified"} and request.kind != "robots"
        is_lost = self.random.random() < self.lost_outcomes
        self.lost += is_lost
        if is_page and not (is_lost and self.random.random() < 0.5):
            self._describe_unsettled.add(self.begun)
            self.spawn(self._process_page(request, answer, number=self.begun))
            self.begun += 1
        if is_lost:
            return Effects(outcome="died")
        await self.clock.sleep(self.random.uniform(0, 0.3) * self.time_factor)
        outcome = fetch_outcome(request, answer, mark.now_us, page=is_page)
        return Effects(publish_last=(Publish(FETCHES_COMPLETED, outcome),))

    @property
    def passed(self) -> int:
        """Number of the first page that is neither settled nor lost."""
        return min(self._describe_unsettled, default=self.begun)

    async def _process_page(self, request: FetchRequested, answer: SimulatedResponse, *, number: int) -> None:
        """Act as the other services: links first, then the settlement; often before the outcome."""
        await self.clock.sleep(self.random.uniform(0, self.settle_seconds) * self.time_factor)
        await self.is_running.wait()
        time, self._times[request.url] = self._times[request.url], self._times[request.url] + 1
        if not self.loses_page(request.url, time):
            await self._settle(request, answer)
        self._describe_unsettled.remove(number)
        if self.repeated_settlements and self.random.random() < self.repeated_settlements:
            await self.clock.sleep(self.random.uniform(0, 20) * self.time_factor)
            await self._settle(request, answer)

    async def _settle(self, request: FetchRequested, answer: SimulatedResponse) -> None:
        origin = {
            "page": request.url,
            "from_job_ids": (request.job_id,),
            "from_execution_ids": (request.execution_id,),
            "from_crawl_spec_ids": (request.crawl_spec_id,),
        }
        if answer.feeds:
            kinds = ("feed",) * len(answer.feeds)
            await self.discover(answer.feeds, via="alternate", kinds=kinds, **origin)
        await self.discover(answer.links, **origin)
        settled = PageSettled(
            url_key=request.url_key,
            group=request.group,
            job_id=request.job_id,
            execution_id=request.execution_id,
            fetch_sequence=request.fetch_sequence,
            verdict="not_modified" if answer.outcome == "not_modified" else "valid",
            settled_at_ms=1,
            url=request.url,
            raw_hash=f"{answer.etag}{request.url_key[::-1]}",
            not_modified=answer.outcome == "not_modified",
            document_kind=answer.document_kind,
            kind=request.kind,
            etag=answer.etag,
            text_hash=self.texts.get(request.url, "t"),
            status=answer.status,
            total_us=round(answer.seconds * 1_000_000),
            body_bytes=answer.size,
        )
        await self._publish([Publish(PAGES_SETTLED, settled)])

    async def discover(self, urls: Sequence[str], **how: Any) -> None:
        by_shard: dict[int, list[str]] = {}
        for url in urls:
            by_shard.setdefault(shard_of_host(urlsplit(url).hostname or "", self.shards), []).append(url)
        await self._publish(
            [
                Publish(
                    LINKS_DISCOVERED,
                    self._links(each[first : first + LINKS_PER_MESSAGE], shard, how),
                    partition=shard,
                )
                for shard, each in by_shard.items()
                for first in range(0, len(each), LINKS_PER_MESSAGE)
            ]
        )

    async def _publish(self, says: Sequence[Publish]) -> None:
        """Publish, and retry while the broker is unavailable."""
        while True:
            try:
                return await self.publisher.publish(says)
            except Unavailable:
                await self.clock.sleep(1)

    def _links(self, urls: Sequence[str], shard: int, how: dict[str, Any]) -> LinksDiscovered:
        return links_event(urls, shard=shard, shards=self.shards, **(self.link_fields | how))


def _limit_response(request: FetchRequested, answer: SimulatedResponse) -> SimulatedResponse:
    """Apply the limits of a request to its response, as the fetcher does."""
    if answer.seconds * 1000 > request.deadline_ms:
        return SimulatedResponse("timed_out", error_class="total_timeout", seconds=request.deadline_ms / 1000)
    if answer.size > request.max_body_bytes:
        return replace(answer, outcome="too_large", error_class="body_too_large", size=request.max_body_bytes)
    return answer


def fetch_outcome(
    request: FetchRequested, answer: SimulatedResponse, marked_at_us: int, *, page: bool
) -> FetchCompleted:
    """Return the outcome of a request."""
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
        etag=answer.etag,
        body_bytes=answer.size,
        total_us=round(answer.seconds * 1_000_000),
        started_at_us=marked_at_us if answer.status else 0,
        before_connect=not answer.status,
        redirect_target=answer.target,
        redirect_target_key=key_of_url(answer.target) if answer.target else "",
        retry_after_seconds=answer.retry_after,
        robots_text=answer.robots_text if is_robots else "",
    )
