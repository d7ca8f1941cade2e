"""Name lookups at a real name server on loopback: failures, silence, lies, truncation, TTLs."""

from __future__ import annotations

import asyncio
import time

import pytest

from strider.fetcher.adapters.http.dns import DnsOptions
from strider.fetcher.adapters.http.name_servers import LOOKUPS_PER_CHANNEL, NameLookupError, NameServers
from strider.testing.hostile import http_response, sends, serve_hostile
from strider.testing.name_server import REFUSED, SERVFAIL, Zone, serve_names
from tests.figures import record_figure
from tests.integration.fetcher.http.runner import request, running_client

WELL = Zone(("127.0.0.1",), ttl=33)
ZONES = {
    "well.test": WELL,
    "alias.test": Zone(cname="well.test", ttl=5),
    "broken.test": Zone(rcode=SERVFAIL),
    "refused.test": Zone(rcode=REFUSED),
    "empty.test": Zone(),
    "circle.test": Zone(cname="round.test"),
    "round.test": Zone(cname="circle.test"),
    "lies.test": Zone(("127.0.0.3",), wrong_ids=50),
    "many.test": Zone(tuple(f"127.{n >> 8}.{n & 255}.1" for n in range(4_000))),
}


@pytest.mark.fault("F27")
@pytest.mark.parametrize(
    ("host", "error"),
    [
        pytest.param("broken.test", "dns_failed", id="servfail"),
        pytest.param("refused.test", "dns_failed", id="refused"),
        pytest.param("nowhere.test", "dns_not_found", id="nxdomain"),
        pytest.param("empty.test", "dns_empty", id="no-address"),
        pytest.param("circle.test", "dns_empty", id="cname-loop"),
        pytest.param(f"{'a' * 64}.test", "dns_not_found", id="label-too-long"),
    ],
)
async def test_a_failed_lookup_has_its_error_class(host: str, error: str) -> None:
    async with serve_names(ZONES) as server:
        names = NameServers([server.address])
        began = time.monotonic()
        with pytest.raises(NameLookupError) as raised:
            await names.lookup(host)
        names.close()

    assert raised.value.error_class == error
    assert time.monotonic() - began < 5


@pytest.mark.fault("F27")
@pytest.mark.parametrize(
    ("host", "address", "ttl_seconds"),
    [
        pytest.param("well.test", "127.0.0.1", 33, id="name"),
        pytest.param("alias.test", "127.0.0.1", 5, id="shortest-ttl-of-an-alias"),
        pytest.param("lies.test", "127.0.0.3", 60, id="fifty-responses-with-a-wrong-id"),
    ],
)
async def test_a_name_has_its_own_addresses_and_ttl(host: str, address: str, ttl_seconds: int) -> None:
    async with serve_names(ZONES) as server:
        names = NameServers([server.address])
        found = await names.lookup(host)
        names.close()

    assert found.addresses == (address,)
    assert ttl_seconds - 2 <= found.ttl_seconds <= ttl_seconds


@pytest.mark.fault("F27")
async def test_thousands_of_addresses_come_by_tcp_and_few_are_kept() -> None:
    """4,000 fill the largest message that there is; by UDP it is truncated."""
    async with serve_names(ZONES) as server:
        names = NameServers([server.address])
        found = await names.lookup("many.test")
        names.close()

    assert len(found.addresses) == 8
    assert server.tcp_queries > 0


@pytest.mark.fault("F27", "A8")
@pytest.mark.parametrize("domains", [8, 50])
async def test_name_servers_that_hang_delay_no_other_name(domains: int) -> None:
    """Twenty names of each domain; meanwhile a page of another domain is fetched as ever."""
    hanging = {f"*.hangs{number}.test": Zone(hangs=True) for number in range(domains)}
    limits = DnsOptions(timeout_seconds=1.0)
    async with (
        serve_names({**ZONES, **hanging}) as server,
        serve_hostile({"/": sends(http_response())}) as site,
        running_client(lookup=NameServers([server.address]), names=limits) as client,
    ):
        urls = [f"http://n{n}.hangs{d}.test/" for d in range(domains) for n in range(20)]
        waiting = [asyncio.create_task(client.fetch(request(url))) for url in urls]
        while len(server.queries) < len(urls):
            await asyncio.sleep(0.001)
        began = time.monotonic()
        healthy = (await client.fetch(request(site.url("/", host="well.test")))).completed
        seconds = time.monotonic() - began
        failed = [(await each).completed for each in waiting]

    assert (healthy.outcome, seconds < 0.5) == ("fetched", True)
    assert {end.error_class for end in failed} == {"dns_timeout"}
    record_figure(f"hanging domains={domains} names={len(urls)}: another page in {seconds * 1000:.0f} ms")


@pytest.mark.fault("F27")
async def test_an_unusable_name_server_is_the_fault_of_no_host() -> None:
    """The outcome says that this machine is offline, which costs no try and trips no breaker."""
    async with running_client(lookup=NameServers(["127.0.0.1:9"])) as client:
        completed = (await client.fetch(request("http://well.test/"))).completed

    assert (completed.outcome, completed.error_class, completed.before_connect) == (
        "offline",
        "offline",
        True,
    )


@pytest.mark.fault("A12", part="search domains")
async def test_no_search_domain_completes_the_name_of_a_site() -> None:
    """Neither a dead name nor one without a dot; an operator's proxy may be named so."""
    zones = {"dead.test.inner.test": WELL, "proxy.inner.test": WELL}
    async with serve_names(zones) as server:
        names = NameServers([server.address], search_domains=["inner.test"])
        for host in ("dead.test", "proxy"):
            with pytest.raises(NameLookupError):
                await names.lookup(host)
        searched = await names.lookup("proxy", searches=True)
        names.close()

    assert searched.addresses == WELL.addresses
    assert {name for name in server.queries if name.endswith("inner.test")} == {"proxy.inner.test"}


async def test_a_fresh_lookup_uses_no_cache() -> None:
    async with serve_names(ZONES) as server:
        names = NameServers([server.address])
        for _ in range(3):
            await names.lookup("well.test")
        cached = server.queries["well.test"]
        await names.lookup("well.test", is_fresh=True)
        names.close()

    assert server.queries["well.test"] == 2 * cached


async def test_a_channel_is_replaced_so_that_its_cache_is_bounded() -> None:
    async with serve_names(ZONES) as server:
        names = NameServers([server.address])
        for _ in range(LOOKUPS_PER_CHANNEL + 1):
            await names.lookup("well.test")
        names.close()

    assert server.queries["well.test"] == 4
