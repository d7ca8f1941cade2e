"""The whole fetcher in one process: consumer loop, marks in memory, real sockets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import FetchCompleted, FetchRequested, PageFetched
from strider.contracts.generated.topics import FETCH_REQUESTS, FETCHER_DLQ, FETCHES_COMPLETED, PAGES_FETCHED
from strider.fetcher.adapters import open_fetch_client, redirect_rules_of
from strider.fetcher.settings import FetcherSettings
from strider.fetcher.topology import GROUP, Fetcher, loop_settings
from strider.frontier.memory.frontier import MemoryFrontier
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.ports import GroupSpec, OutgoingMessage
from strider.politeness import DecryptHeader, refuse_encrypted
from strider.runtime.clocks import SystemClock, SystemRandomness
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.consumer.spec import ConsumerPorts
from strider.runtime.publishing.dead_letters import DeadLetterOrigin, DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher
from strider.runtime.settings.base import CrawlSettings
from strider.storage.objects import DeadLetterObjectStore, ObjectOptions, open_object_store
from strider.testing.hostile import (
    PAGE,
    http_response,
    sends,
    sends_nothing,
    sends_then_resets,
    serve_hostile,
)

from .leases import SHARDS, FrontierLeases

CODEC = Codec(SchemaStore.bundled())
TOPICS = (FETCH_REQUESTS, PAGES_FETCHED, FETCHES_COMPLETED, FETCHER_DLQ)


class InProcessFetcher:
    """A broker in memory, a frontier in memory, and one fetcher."""

    def __init__(
        self, *, max_in_flight: int = 1, decrypt_header: DecryptHeader = refuse_encrypted, **set_so: Any
    ) -> None:
        clock = SystemClock()
        self.broker = InProcessBroker(clock=clock)
        for topic in TOPICS:
            self.broker.create_topic(topic.name, topic.partitions or SHARDS)
        self.broker.start_group(GROUP, [FETCH_REQUESTS.name])
        self.frontier = MemoryFrontier(clock)
        self.leasing = FrontierLeases(self.frontier, max_in_flight=max_in_flight)
        self.objects: DeadLetterObjectStore = open_object_store(ObjectOptions("memory:///"), clock=clock)
        settings = FetcherSettings(
            crawl=CrawlSettings(allow_private=True, contact="bot@example.org"), **set_so
        )
        self.client = open_fetch_client(
            settings, self.frontier, clock=clock, process_name="one", decrypt_header=decrypt_header
        )
        fetcher = Fetcher(
            self.client, rules=redirect_rules_of(settings), codec=CODEC, clock=clock, objects=self.objects
        )
        bus = InProcessBus(self.broker)
        speaker = EventPublisher(bus, CODEC, service=GROUP, shards=SHARDS, clock=clock)
        letters = DeadLetterWriter(FETCHER_DLQ, DeadLetterOrigin(GROUP, GROUP), clock=clock)
        ports = ConsumerPorts(
            clock=clock,
            chance=SystemRandomness(),
            publisher=speaker,
            dead_letters=letters,
            on_given_up=fetcher.on_given_up,
        )
        self.loop = ConsumerLoop(
            bus,
            CODEC,
            fetcher.subscriptions(),
            GroupSpec(GROUP, (FETCH_REQUESTS.name,)),
            ports=ports,
            settings=loop_settings(concurrency=32, max_deadline_seconds=30),
        )

    def write(self, *requests: FetchRequested) -> None:
        """Publish requests on their topic."""
        for request in requests:
            encoded = CODEC.encode(FETCH_REQUESTS, request)
            key = FETCH_REQUESTS.key_of(request)
            self.broker.append(
                OutgoingMessage(FETCH_REQUESTS.name, key, encoded.value, request.shard, encoded.headers)
            )

    def _said(self, topic: Topic[Any]) -> list[Any]:
        logs = self.broker.topic(topic.name).partitions
        return [CODEC.decode(topic, each.value, each.headers) for log in logs for each in log.records]

    @property
    def pages(self) -> list[PageFetched]:
        return self._said(PAGES_FETCHED)

    @property
    def ends(self) -> list[FetchCompleted]:
        return self._said(FETCHES_COMPLETED)

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.01)

    async def drained(self) -> None:
        await self.until(lambda: not sum(self.broker.lag(GROUP).values()))


@contextlib.asynccontextmanager
async def in_process(
    *, max_in_flight: int = 1, decrypt_header: DecryptHeader = refuse_encrypted, **set_so: Any
) -> AsyncIterator[InProcessFetcher]:
    made = InProcessFetcher(max_in_flight=max_in_flight, decrypt_header=decrypt_header, **set_so)
    running_loop = asyncio.create_task(made.loop.run())
    try:
        yield made
    finally:
        made.client.finish_within(0.1)
        made.loop.request_stop()
        await running_loop
        await made.client.close()
        await made.objects.close()


@pytest.mark.req("S3.7.3", "S3.7.4")
async def test_each_request_is_made_and_published_once() -> None:
    async with (
        serve_hostile({"/a": sends(http_response()), "/b": sends(http_response(b"x" * 600_000))}) as server,
        in_process() as one,
    ):
        urls = [server.url(path, host=f"h{n}.localhost") for n in range(15) for path in ("/a", "/b")]
        urls = [url for n, url in enumerate(urls) if n % 2 == (n // 2) % 2]
        wanted = await one.leasing.lease(*urls)
        one.write(*wanted)
        await one.drained()

        assert len(wanted) == 15 == len(server.requested_paths)
        assert sorted(end.lease_id for end in one.ends) == sorted(each.lease_id for each in wanted)
        assert {end.outcome for end in one.ends} == {"fetched"}
        assert {page.url for page in one.pages} == set(urls)
        large = next(page for page in one.pages if page.url.endswith("/b"))
        assert (large.body, await one.objects.get(large.body_object)) == (b"", b"x" * 600_000)
        assert {page.body for page in one.pages if page.url.endswith("/a")} == {PAGE}


async def test_a_redelivered_message_is_not_fetched_again() -> None:
    """At-least-once delivery must cost no site a request."""
    async with serve_hostile({"/": sends(http_response())}) as server, in_process() as one:
        wanted = await one.leasing.lease(server.url("/", host="a.localhost"))
        one.write(*wanted)
        await one.drained()
        one.write(*wanted, *wanted)
        await one.drained()

        assert (len(server.requested_paths), len(one.ends), len(one.pages)) == (1, 1, 1)


async def test_an_expired_lease_is_dropped() -> None:
    async with serve_hostile({"/": sends(http_response())}) as server, in_process() as one:
        wanted = await one.leasing.lease(server.url("/", host="a.localhost"), lease_ms=1)
        await asyncio.sleep(0.05)
        one.write(*wanted)
        await one.drained()

        assert (server.requested_paths, one.ends) == ([], [])


async def test_a_group_may_have_several_requests_at_a_time() -> None:
    """Their leases say how many; messages of one key would otherwise wait for each other."""
    async with (
        serve_hostile({"/1": sends_nothing, "/2": sends_nothing, "/3": sends_nothing}) as server,
        in_process(max_in_flight=3) as one,
    ):
        one.write(*await one.leasing.lease(*(server.url(f"/{n}", host="a.localhost") for n in (1, 2, 3))))

        await one.until(lambda: len(server.requested_paths) == 3)


async def test_shutdown_publishes_an_outcome_of_every_started_request() -> None:
    async with serve_hostile({"/slow": sends_nothing, "/soon": sends(http_response())}) as server:
        async with in_process() as one:
            wanted = await one.leasing.lease(
                *(server.url("/slow", host=f"h{n}.localhost") for n in range(5)),
                server.url("/soon", host="s.localhost"),
            )
            one.write(*wanted)
            await one.until(lambda: len(server.requested_paths) == 6)

        assert sorted(end.outcome for end in one.ends) == ["fetched", *["interrupted"] * 5]
        assert sum(one.broker.lag(GROUP).values()) == 0


@pytest.mark.req("S2.1.6", "S2.1.7", "S2.1.8")
async def test_without_a_network_nothing_is_sent_until_it_is_back() -> None:
    """Our own outage must not cost sites their tries: it is reported as ours, and waited for."""
    endpoint = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    place = f"127.0.0.1:{endpoint.sockets[0].getsockname()[1]}"
    plays = {"/": sends(http_response()), "/gone": sends_then_resets(b"")}
    async with (
        serve_hostile(plays) as server,
        in_process(network_checks=(place,), network_check_seconds=0.05) as one,
    ):
        hosts = (f"h{n}.localhost" for n in range(9))
        first, second = [await one.leasing.lease(server.url("/gone", host=next(hosts))) for _ in range(2)]
        one.write(*first)
        await one.drained()
        endpoint.close()
        one.write(*second)
        await one.until(lambda: len(one.ends) == 2)
        one.write(*await one.leasing.lease(*(server.url("/", host=host) for host in hosts)))
        await one.until(lambda: "network" in one.loop.paused_reasons)
        asked_offline = len(server.requested_paths)
        back = await asyncio.start_server(lambda _, writer: writer.close(), *place.split(":"))
        await one.drained()
        back.close()

    ends = sorted((end.outcome, end.error_class) for end in one.ends)
    assert ends == [*[("fetched", "")] * 7, ("network_failed", "connection_reset"), ("offline", "offline")]
    assert (asked_offline, "network" in one.loop.paused_reasons) == (2, False)
