"""A fetcher that is suspended between its mark and its request, at any point, and during rebalances.

The witness is the site: what was requested, how often, and when. A frozen process (SIGSTOP) keeps its
connections and its marks; the clock of the host group counts on the mark and two seconds.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from strider.contracts.generated.events import FetchCompleted, FetchRequested
from strider.contracts.generated.topics import FETCH_REQUESTS
from strider.fetcher.adapters.http.deadlines import MAX_START_SECONDS
from strider.testing.faulty_tcp_proxy import FaultyTcpProxy, faulty_tcp_proxy
from strider.testing.hostile import HostileServer, Reader, Writer, http_response, sends, serve_hostile
from strider.testing.stack import ServerStack
from tests.integration.fetcher.leases import SHARDS
from tests.processes.broker import Broker
from tests.processes.services import Service
from tests.processes.waiting import until

from .processes import FetcherProcesses, FetcherTopics

CERTIFICATES = Path(__file__).parents[1] / "certificates"
FROZEN_SECONDS = MAX_START_SECONDS + 0.5
LINGER_SECONDS = 0.2
AT_A_TIME = 16
REBALANCED = 700
"""Enough to keep three processes busy until the last has joined, four at a time."""
LATE_SECONDS = 0.25
"""Between the writing of the head and the site's record of it, on a busy machine."""


@pytest.fixture
def fetchers(stack: ServerStack, redis_url: str, tmp_path: Path) -> Iterator[FetcherProcesses]:
    fetchers = FetcherProcesses(tmp_path, kafka=stack.kafka.address, redis=redis_url)
    yield fetchers
    fetchers.close()


@pytest.fixture
async def topics(stack: ServerStack, redis_url: str) -> AsyncIterator[FetcherTopics]:
    topics = FetcherTopics(kafka=stack.kafka.address, redis=redis_url)
    yield topics
    await topics.close()


@dataclass
class Site:
    """A site that responds after a while, and records when it was requested what."""

    server: HostileServer
    asked_at: dict[str, float] = field(default_factory=dict)

    def urls(self, count: int) -> list[str]:
        """Return URLs of pages on as many hosts."""
        mark = uuid.uuid4().hex[:6]
        return [self.server.url(f"/lingers?{mark}-{n}", host=f"{mark}-{n}.localhost") for n in range(count)]

    async def lingers(self, _reader: Reader, writer: Writer) -> None:
        self.asked_at[self.server.requested_paths[-1]] = time.time()
        await asyncio.sleep(LINGER_SECONDS)
        writer.write(http_response())
        await writer.drain()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serve_hostile({"/ok": sends(http_response())}) as server:
        site = Site(server)
        server.scripts["/lingers"] = site.lingers
        yield site


async def _frozen(service: Service, *, seconds: float = FROZEN_SECONDS) -> None:
    """Suspend it for some time; nothing else is awaited here, as only the suspension takes time."""
    service.freeze()
    await asyncio.sleep(seconds)
    service.thaw()


async def _completed(topics: FetcherTopics, wanted: list[FetchRequested], service: Service) -> FetchCompleted:
    found: list[FetchCompleted] = []

    async def is_told() -> bool:
        found[:] = await topics.completed(wanted)
        return bool(found)

    await service.until(is_told, what="ends it")
    (only,) = found
    return only


async def _fine(topics: FetcherTopics, site: Site, service: Service) -> None:
    """Check that it works on, at last."""
    wanted = await topics.request_fetches(site.server.url("/ok", host=f"{uuid.uuid4().hex[:8]}.localhost"))
    assert (await _completed(topics, wanted, service)).outcome == "fetched"


async def _with_held_mark(topics: FetcherTopics, site: Site, wire: FaultyTcpProxy) -> list[FetchRequested]:
    """Publish a request; returns when its mark is made and its reply held back from the fetcher."""
    wanted = await topics.lease(*site.urls(1))
    wire.hold()
    before = await topics.script_calls()
    await topics.publish(*wanted)

    async def is_marked() -> bool:
        return await topics.script_calls() > before and wire.response_held.is_set()

    await until(is_marked, what="the mark is made, its answer is held")
    return wanted


async def test_frozen_before_its_mark(topics: FetcherTopics, site: Site, fetchers: FetcherProcesses) -> None:
    """The lease has expired meanwhile: it is another fetcher's, and nothing is published either."""
    service = fetchers.start()
    await service.until_ready()
    await _fine(topics, site, service)
    service.freeze()
    wanted = await topics.lease(*site.urls(1), lease_ms=500)
    await topics.publish(*wanted)
    await _frozen(service, seconds=1.0)

    await _fine(topics, site, service)
    await service.until(
        lambda: service.metric("strider_messages_total", outcome="lease_gone"), what="drops it"
    )
    assert site.asked_at == {}
    assert await topics.completed(wanted) == []


@pytest.mark.fault("F3", part="a fetcher")
async def test_frozen_between_its_mark_and_the_connection(
    topics: FetcherTopics, site: Site, fetchers: FetcherProcesses, redis_url: str
) -> None:
    """More than two seconds after the mark nothing is started; it is published as interrupted."""
    address = urlsplit(redis_url)
    async with faulty_tcp_proxy(address.hostname or "", address.port or 0) as (wire, port):
        service = fetchers.start(REDIS_URL=f"redis://127.0.0.1:{port}/0")
        await service.until_ready()
        await _fine(topics, site, service)
        wanted = await _with_held_mark(topics, site, wire)
        service.freeze()
        wire.release()
        await _frozen(service)

        told = await _completed(topics, wanted, service)
        assert (told.outcome, told.error_class, told.before_connect) == ("interrupted", "cancelled", True)
        assert site.asked_at == {}
        await _fine(topics, site, service)
        service.ask_to_stop()
        await service.until_ended()


async def test_frozen_between_the_connection_and_the_head(
    topics: FetcherTopics, fetchers: FetcherProcesses, tmp_path: Path
) -> None:
    """A handshake that ends too late sends no request; the connection serves the next one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "good.pem")
    async with (
        serve_hostile({"/ok": sends(http_response())}, tls=context) as server,
        faulty_tcp_proxy("127.0.0.1", server.port) as (
            wire,
            port,
        ),
    ):
        service = fetchers.start(FETCHER_CA_FILE=str(CERTIFICATES / "authority.pem"))
        await service.until_ready()
        wire.hold()
        wanted = await topics.request_fetches(f"https://good.localhost:{port}/ok")
        await asyncio.wait_for(wire.response_held.wait(), 60)
        service.freeze()
        wire.release()
        await _frozen(service)

        told = await _completed(topics, wanted, service)
        assert (told.outcome, told.error_class, told.started_at_us) == ("timed_out", "tls_timeout", 0)
        assert server.requested_paths == []


async def test_frozen_after_the_head(topics: FetcherTopics, site: Site, fetchers: FetcherProcesses) -> None:
    """A request that was sent is sent once, and its response is read whenever that is possible."""
    service = fetchers.start()
    await service.until_ready()
    wanted = await topics.request_fetches(*site.urls(1))
    await service.until(lambda: len(site.asked_at) == 1, what="asks")
    await _frozen(service)

    assert (await _completed(topics, wanted, service)).outcome == "fetched"
    assert len(site.server.requested_paths) == 1


async def test_frozen_until_its_partitions_are_reassigned(
    topics: FetcherTopics, site: Site, fetchers: FetcherProcesses, redis_url: str
) -> None:
    """The successor consumes the request again and may not make it; the frozen one may not any more."""
    address = urlsplit(redis_url)
    async with faulty_tcp_proxy(address.hostname or "", address.port or 0) as (wire, port):
        service = fetchers.start(REDIS_URL=f"redis://127.0.0.1:{port}/0", KAFKA_SESSION_TIMEOUT="3s")
        await service.until_ready()
        await _fine(topics, site, service)
        wanted = await _with_held_mark(topics, site, wire)
        service.freeze()
        wire.release()
        heir = fetchers.start(KAFKA_SESSION_TIMEOUT="3s")
        await heir.until_logged("Health server started")
        await heir.until(
            lambda: heir.metric("strider_messages_total", outcome="lease_gone"), what="drops the request"
        )
        service.thaw()

        await _fine(topics, site, service)
        assert site.asked_at == {}
        assert {told.outcome for told in await topics.completed(wanted)} <= {"interrupted"}
        service.ask_to_stop()
        await service.until_ended()


@pytest.mark.parametrize(
    "times", [pytest.param(3, id="short"), pytest.param(25, id="long", marks=pytest.mark.slow)]
)
async def test_frozen_anywhere_under_load(
    topics: FetcherTopics, site: Site, fetchers: FetcherProcesses, times: int
) -> None:
    """Nothing is requested twice or later than two seconds after its mark; every marked request ends."""
    chance = random.Random(times)
    service = fetchers.start(FETCHER_CONCURRENCY=str(AT_A_TIME))
    await service.until_ready()
    wanted = await topics.request_fetches(*site.urls(80 + 60 * times))
    for _ in range(times):
        before = len(site.asked_at)
        await service.until(lambda before=before: len(site.asked_at) > before + AT_A_TIME, what="works")
        await asyncio.sleep(chance.uniform(0, LINGER_SECONDS))  # at another point each time
        await _frozen(service)

    async def are_all_told() -> bool:
        return len(await topics.completed(wanted)) == len(wanted)

    await service.until(are_all_told, what="ends everything")
    told = {urlsplit(each.url): each for each in await topics.completed(wanted)}
    marked_at = {f"{url.path}?{url.query}": each.marked_at_us / 1e6 for url, each in told.items()}
    late = {path: at - marked_at[path] for path, at in site.asked_at.items()}
    assert max(late.values()) <= MAX_START_SECONDS + LATE_SECONDS
    assert set(Counter(site.server.requested_paths).values()) == {1}
    assert {each.outcome for each in told.values()} <= {"fetched", "interrupted"}
    asked = {each.url for each in told.values() if not each.before_connect}
    assert len(asked) == len(site.asked_at), "what was asked says so, and only that"


async def test_a_rebalance_costs_no_request(
    topics: FetcherTopics, site: Site, fetchers: FetcherProcesses, stack: ServerStack
) -> None:
    """Partitions move under load, three times: each page is requested once, and none is left out."""
    witness, few = Broker(stack.kafka.address, shards=SHARDS), {"FETCHER_CONCURRENCY": "4"}
    await witness.open(FETCH_REQUESTS)
    first = fetchers.start(**few)
    await first.until_ready()
    wanted = await topics.request_fetches(*site.urls(REBALANCED))

    async def more(service: Service) -> None:
        before = len(site.asked_at)
        await service.until(lambda: len(site.asked_at) >= before + AT_A_TIME, what="asks for more")

    await more(first)
    second = fetchers.start(**few)
    await second.until(lambda: second.partitions == SHARDS // 2, what="has its share")
    await more(second)
    third = fetchers.start(**few)
    await third.until(lambda: third.partitions == SHARDS // 3, what="has its share")
    await more(third)
    first.ask_to_stop()
    assert await first.until_ended() == 0

    async def is_drained() -> bool:
        return await witness.committed("fetcher", FETCH_REQUESTS) == await witness.ends(FETCH_REQUESTS)

    await second.until(is_drained, what="has committed everything, with the third")
    told = await topics.completed(wanted)
    assert Counter(each.outcome for each in told) == {"fetched": REBALANCED}
    assert set(Counter(site.server.requested_paths).values()) == {1}
    assert len(site.server.requested_paths) == REBALANCED
    await witness.close()
