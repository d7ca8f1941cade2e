"""DNS: cached, looked up once for concurrent requests, checked each time."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence

import pytest

from strider.fetcher.adapters import FetchFailure
from strider.fetcher.adapters.http.address_guard import AddressGuard
from strider.fetcher.adapters.http.dns import DOMAIN_SHARE, DnsOptions, DnsResolver, is_loopback_name
from strider.fetcher.core import AddressPolicy
from tests.unit.fetcher.builders import ManualClock

OPEN = AddressGuard(AddressPolicy(allow_private=True))


class Table:
    """Name servers that count their lookups."""

    def __init__(self, **found: Sequence[str] | Exception) -> None:
        self.asked: list[str] = []
        self.found = found

    def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        found = self.found[host]
        if isinstance(found, Exception):
            raise found
        return found


async def _addresses(names: DnsResolver, host: str) -> list[str]:
    return [place["host"] for place in await names.resolve(host, 80)]


@pytest.mark.req("S3.21.9")
async def test_addresses_are_cached_for_their_ttl() -> None:
    clock, table = ManualClock(), Table(a=("1.2.3.4", "2606::1", "1.2.3.4"))
    names = DnsResolver(OPEN, clock=clock, lookup=table, options=DnsOptions(ttl_seconds=60))

    assert await _addresses(names, "a") == ["1.2.3.4", "2606::1"]
    clock.seconds += 59
    await names.prefetch("a")
    assert table.asked == ["a"]
    clock.seconds += 2
    await names.prefetch("a")
    assert table.asked == ["a", "a"]
    await names.close()


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        pytest.param(socket.gaierror(socket.EAI_NONAME, "x"), "dns_not_found", id="no-name"),
        pytest.param(socket.gaierror(socket.EAI_AGAIN, "x"), "dns_failed", id="servers-fail"),
        pytest.param(socket.gaierror(-5, "x"), "dns_empty", id="no-address"),
        pytest.param(UnicodeError("label too long"), "dns_not_found", id="no-label"),
        pytest.param((), "dns_empty", id="nothing"),
    ],
)
async def test_failures_are_cached_for_a_shorter_time(failure: Exception | Sequence[str], error: str) -> None:
    clock, table = ManualClock(), Table(a=failure)
    names = DnsResolver(OPEN, clock=clock, lookup=table, options=DnsOptions(negative_ttl_seconds=10))

    await names.prefetch("a")
    for _ in range(2):
        with pytest.raises(FetchFailure) as raised:
            await names.resolve("a", 80)
        assert raised.value.error_class == error
    assert table.asked == ["a"]
    clock.seconds += 11
    with pytest.raises(FetchFailure):
        await names.resolve("a", 80)
    assert table.asked == ["a", "a"]
    await names.close()


@pytest.mark.req("S3.21.9")
async def test_concurrent_lookups_of_a_name_are_joined() -> None:
    go, asked = threading.Event(), []

    def lookup(host: str) -> Sequence[str]:
        asked.append(host)
        go.wait(5)
        return ("1.2.3.4",)

    names = DnsResolver(OPEN, clock=ManualClock(), lookup=lookup)
    waiting = [asyncio.create_task(_addresses(names, "a")) for _ in range(20)]
    await asyncio.sleep(0.01)
    waiting[0].cancel()
    await asyncio.sleep(0)
    go.set()

    assert await asyncio.gather(*waiting[1:]) == [["1.2.3.4"]] * 19
    assert asked == ["a"]
    await names.close()


async def test_hanging_name_servers_block_no_other_domain() -> None:
    """A wildcard has any number of names; and a thread is busy until the system gives up, not until we do."""
    hangs, asked = threading.Event(), []

    def look(host: str) -> Sequence[str]:
        asked.append(host)
        if host.endswith("tar.test"):
            hangs.wait(20)
        return ("1.2.3.4",)

    options = DnsOptions(threads=16, timeout_seconds=0.2)
    names = DnsResolver(OPEN, clock=ManualClock(), lookup=look, options=options)
    try:
        await asyncio.gather(*(names.prefetch(f"n{number}.tar.test") for number in range(50)))
        assert await _addresses(names, "well.test") == ["1.2.3.4"]
        assert len(asked) == 16 // DOMAIN_SHARE + 1
    finally:
        hangs.set()
    while await _is_held_up(names, "again.tar.test"):
        await asyncio.sleep(0)
    await names.close()


async def _is_held_up(names: DnsResolver, host: str) -> bool:
    names.forget(host)
    try:
        await names.resolve(host, 80)
    except FetchFailure:
        return True
    return False


async def test_failures_are_dropped_when_the_network_has_changed() -> None:
    """A name that could not be resolved while we were offline may exist."""
    clock, table = ManualClock(), Table(a=OSError(-3, "try again"), b=("1.2.3.4",))
    names = DnsResolver(OPEN, clock=clock, lookup=table, options=DnsOptions(negative_ttl_seconds=600))
    with pytest.raises(FetchFailure):
        await names.resolve("a", 80)
    await names.resolve("b", 80)

    names.forget_failures()
    with pytest.raises(FetchFailure):
        await names.resolve("a", 80)
    await names.resolve("b", 80)

    assert table.asked == ["a", "b", "a"]


async def test_the_number_of_cached_names_is_limited() -> None:
    table = Table(a=("1.1.1.1",), b=("1.1.1.2",), c=("1.1.1.3",))
    names = DnsResolver(OPEN, clock=ManualClock(), lookup=table, options=DnsOptions(max_names=2))

    for host in ("a", "b", "a", "c", "a", "b"):
        await names.prefetch(host)

    assert table.asked == ["a", "b", "c", "b"]
    await names.close()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "a.localhost", "a.b.LocalHost."])
async def test_localhost_is_loopback_without_a_lookup(host: str) -> None:
    """RFC 6761: a name server that answers for it is wrong or worse."""
    names = DnsResolver(OPEN, clock=ManualClock(), lookup=Table())

    assert is_loopback_name(host)
    assert await _addresses(names, host) == ["127.0.0.1"]
    with pytest.raises(FetchFailure) as raised:
        await DnsResolver(AddressGuard(AddressPolicy()), clock=ManualClock(), lookup=Table()).resolve(
            host, 80
        )
    assert raised.value.error_class == "refused_address"
    await names.close()


@pytest.mark.parametrize(
    ("address", "allow_private", "refused"),
    [
        pytest.param("93.184.216.34", False, False, id="public"),
        pytest.param("2606:2800:220:1::1", False, False, id="public-v6"),
        pytest.param("127.0.0.1", False, True, id="loopback"),
        pytest.param("127.0.0.1", True, False, id="loopback-allowed"),
        pytest.param("::ffff:10.1.2.3", False, True, id="mapped"),
        pytest.param("64:ff9b::7f00:1", False, True, id="nat64"),
        pytest.param("fe80::1%eth0", False, True, id="link-local-with-zone"),
        pytest.param("100.64.0.1", False, True, id="carrier"),
        pytest.param("169.254.169.254", True, True, id="vault"),
        pytest.param("no address", False, True, id="nonsense"),
    ],
)
def test_every_address_is_checked(address: str, allow_private: bool, refused: bool) -> None:
    found = AddressGuard(AddressPolicy(allow_private=allow_private)).check(address)

    assert (found is not None and found.error_class == "refused_address") == refused


@pytest.mark.parametrize(
    ("address", "is_refused"),
    [
        pytest.param("93.184.216.34", True, id="public"),
        pytest.param("10.1.2.3", True, id="private"),
        pytest.param("127.0.0.2", False, id="loopback"),
        pytest.param("::1", False, id="loopback-v6"),
    ],
)
def test_without_a_contact_only_loopback_is_allowed(address: str, is_refused: bool) -> None:
    """The owner of a visited site must be able to contact us."""
    found = AddressGuard(AddressPolicy(allow_private=True), has_contact=False).check(address)

    assert (found is not None) == is_refused
    if found is not None:
        assert (found.error_class, "STRIDER_CONTACT" in found.message) == ("no_contact", True)
