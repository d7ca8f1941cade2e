"""A fetcher process at a real name server that fails, hangs, ends, returns and changes what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strider.contracts.generated.events import FetchCompleted
from strider.testing.hostile import HostileServer, http_response, sends, serve_hostile
from strider.testing.name_server import SERVFAIL, Zone, serve_names
from strider.testing.stack import ServerStack
from tests.processes.services import Service
from tests.processes.waiting import until

from .processes import FetcherProcesses, FetcherTopics

HERE, NOT_HERE = Zone(("127.0.0.1",), ttl=1), Zone(("127.0.0.77",), ttl=1)
_PAGE = sends(http_response(headers=("Connection: close",)), then_close=True)
MAX_IN_FLIGHT = 1000
"""No request is concluded here, so each counts."""
SETTINGS = {"FETCHER_DNS_MIN_TTL": "1s", "FETCHER_DNS_NEGATIVE_TTL": "1s", "FETCHER_DNS_TIMEOUT": "2s"}


@pytest.fixture
def start(stack: ServerStack, redis_url: str, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    fetchers = FetcherProcesses(tmp_path, kafka=stack.kafka.address, redis=redis_url)
    yield fetchers.start
    fetchers.close()


class Client:
    """Requests one page after the other from the fetcher."""

    def __init__(self, stack: ServerStack, service: Service, site: HostileServer) -> None:
        self._topics = FetcherTopics(
            kafka=stack.kafka.address, redis=stack.redis.address, max_in_flight=MAX_IN_FLIGHT
        )
        self._service = service
        self._site = site
        self._pages = 0

    async def fetch(self, host: str) -> FetchCompleted:
        """Request a page of a host; return how that ended."""
        self._pages += 1
        wanted = await self._topics.request_fetches(self._site.url(f"/?{self._pages}", host=host))
        ends: list[FetchCompleted] = []

        async def has_ended() -> bool:
            ends[:] = await self._topics.completed(wanted)
            return bool(ends)

        await self._service.until(has_ended, what=f"ends a request to {host}")
        return ends[0]

    async def fetch_until(self, host: str, error_class: str) -> FetchCompleted:
        """Request pages until one ends so; empty for a page."""
        ends: list[FetchCompleted] = []

        async def ends_so() -> bool:
            ends.append(await self.fetch(host))
            return ends[-1].error_class == error_class

        await until(ends_so, what=f"{host} ends as {error_class!r}", tell=lambda: ends[-1].error_message)
        return ends[-1]

    async def close(self) -> None:
        """Close its connections."""
        await self._topics.close()


@pytest.mark.fault("F27")
async def test_a_fetcher_follows_its_name_server(stack: ServerStack, start: Callable[..., Service]) -> None:
    """F27: each name fails for its own reason; addresses change after their TTL, moved hosts are found."""
    zones = {
        "well.test": HERE,
        "moves.test": HERE,
        "broken.test": Zone(rcode=SERVFAIL),
        "hangs.test": Zone(hangs=True),
    }
    async with serve_hostile({"/": _PAGE}) as site, serve_names(zones) as names:
        service = start(FETCHER_DNS_SERVERS=names.address, FETCHER_PORTS=f"{site.port}", **SETTINGS)
        client = Client(stack, service, site)
        ends = [
            await client.fetch(host) for host in ("well.test", "broken.test", "nowhere.test", "hangs.test")
        ]
        zones["broken.test"] = zones["hangs.test"] = HERE
        mended = [await client.fetch_until(host, "") for host in ("broken.test", "hangs.test")]
        first = await client.fetch("moves.test")
        zones["moves.test"] = NOT_HERE
        away = await client.fetch_until("moves.test", "connect_refused")
        zones["moves.test"] = HERE
        back = await client.fetch("moves.test")
        queries = names.queries["well.test"]
        service.ask_to_stop()
        code = await service.until_ended()
        await client.close()

    assert [end.error_class for end in ends] == ["", "dns_failed", "dns_not_found", "dns_timeout"]
    assert [end.outcome for end in (*mended, first, back)] == ["fetched"] * 4
    assert away.outcome == "network_failed"
    assert (code, queries) == (0, 2), "A and AAAA, once"


@pytest.mark.fault("F27")
async def test_a_name_server_that_is_gone_blames_no_host(
    stack: ServerStack, start: Callable[..., Service]
) -> None:
    """F27: what was looked up before is fetched from the cache; all others wait for the name server."""
    zones = {"early.test": Zone(("127.0.0.1",), ttl=300), "late.test": HERE}
    async with serve_hostile({"/": _PAGE}) as site:
        async with serve_names(zones) as names:
            port = names.port
            service = start(FETCHER_DNS_SERVERS=names.address, FETCHER_PORTS=f"{site.port}", **SETTINGS)
            client = Client(stack, service, site)
            early = await client.fetch("early.test")
        cached, late = await client.fetch("early.test"), await client.fetch("late.test")
        async with serve_names(zones, port=port):
            again = await client.fetch_until("late.test", "")
        await client.close()

    assert [end.outcome for end in (early, cached, late, again)] == [
        "fetched",
        "fetched",
        "offline",
        "fetched",
    ]
