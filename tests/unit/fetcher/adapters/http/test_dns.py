"""DNS: cached, looked up once for concurrent requests, checked each time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.adapters import FetchFailure
from strider.fetcher.adapters.http.address_guard import AddressGuard
from strider.fetcher.adapters.http.dns import DnsOptions, DnsResolver
from strider.fetcher.adapters.http.name_servers import NameLookupError, ResolvedName
from strider.fetcher.core import AddressPolicy, is_loopback_name
from tests.unit.fetcher.builders import ManualClock

OPEN = AddressGuard(AddressPolicy(allow_private=True))


class Table:
    """Name servers that count their lookups."""

    def __init__(self, **found: Sequence[str] | ErrorClass) -> None:
        self.asked: list[str] = []
        self.fresh: list[str] = []
        self.found = found
        self.ttl_seconds = 60.0
        self.gate: asyncio.Event | None = None

    async def lookup(self, host: str, *, searches: bool = False, is_fresh: bool = False) -> ResolvedName:
        self.asked.append(f"{host}+" if searches else host)
        self.fresh += [host] if is_fresh else []
        if self.gate is not None:
            await self.gate.wait()
        found = self.found[host]
        if isinstance(found, ErrorClass):
            raise NameLookupError(found, "x")
        return ResolvedName(tuple(found), self.ttl_seconds)

    def close(self) -> None:
        """There is nothing to cancel."""


async def _addresses(names: DnsResolver, host: str) -> list[str]:
    return [place["host"] for place in await names.resolve(host, 80)]


@pytest.mark.req("S3.21.9")
@pytest.mark.parametrize(
    ("ttl_seconds", "cached_seconds"),
    [
        pytest.param(60.0, 60.0, id="of-the-name"),
        pytest.param(0.0, 5.0, id="at-least"),
        pytest.param(86_400.0, 300.0, id="at-most"),
    ],
)
async def test_addresses_are_cached_for_their_ttl_within_bounds(
    ttl_seconds: float, cached_seconds: float
) -> None:
    clock, table = ManualClock(), Table(a=("1.2.3.4", "2606::1"))
    table.ttl_seconds = ttl_seconds
    names = DnsResolver(OPEN, clock=clock, names=table)

    assert await _addresses(names, "a") == ["1.2.3.4", "2606::1"]
    clock.seconds += cached_seconds - 1
    await names.prefetch("a")
    assert table.asked == ["a"]
    clock.seconds += 2
    await names.prefetch("a")
    assert table.asked == ["a", "a"]
    assert table.fresh == []
    await names.close()


@pytest.mark.parametrize(
    ("found", "error", "cached_seconds"),
    [
        pytest.param(ErrorClass.DNS_NOT_FOUND, "dns_not_found", 10, id="no-name"),
        pytest.param(ErrorClass.DNS_FAILED, "dns_failed", 10, id="servers-fail"),
        pytest.param((), "dns_empty", 10, id="no-address"),
        pytest.param(ErrorClass.OFFLINE, "offline", 1, id="own-failure"),
    ],
)
async def test_failures_are_cached_for_a_shorter_time(
    found: ErrorClass | Sequence[str], error: str, cached_seconds: int
) -> None:
    """A failure of this machine is no property of the name, and is over soon."""
    clock, table = ManualClock(), Table(a=found)
    names = DnsResolver(OPEN, clock=clock, names=table, options=DnsOptions(negative_ttl_seconds=10))

    await names.prefetch("a")
    for _ in range(2):
        with pytest.raises(FetchFailure) as raised:
            await names.resolve("a", 80)
        assert raised.value.error_class == error
    assert table.asked == ["a"]
    clock.seconds += cached_seconds + 1
    with pytest.raises(FetchFailure):
        await names.resolve("a", 80)
    assert table.asked == ["a", "a"]
    await names.close()


@pytest.mark.req("S3.21.9")
async def test_concurrent_lookups_of_a_name_are_joined() -> None:
    table = Table(a=("1.2.3.4",))
    table.gate = asyncio.Event()
    names = DnsResolver(OPEN, clock=ManualClock(), names=table)
    waiting = [asyncio.create_task(_addresses(names, "a")) for _ in range(20)]
    while not table.asked:
        await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    table.gate.set()

    assert await asyncio.gather(*waiting[1:]) == [["1.2.3.4"]] * 19
    assert table.asked == ["a"]
    await names.close()


async def test_a_name_whose_addresses_do_not_respond_is_looked_up_without_any_cache() -> None:
    table = Table(a=("1.2.3.4",))
    names = DnsResolver(OPEN, clock=ManualClock(), names=table)
    await names.prefetch("a")

    names.forget("a")
    names.forget("never-seen")
    await names.prefetch("a")
    await names.prefetch("a")

    assert (table.asked, table.fresh) == (["a", "a"], ["a"])
    await names.close()


async def test_search_domains_complete_the_names_of_operators_alone() -> None:
    table = Table(proxy=("10.0.0.1",))
    names = DnsResolver(OPEN, clock=ManualClock(), names=table)

    assert await names.resolve_unchecked("proxy") == ("10.0.0.1",)
    await names.prefetch("proxy.")

    assert table.asked == ["proxy+", "proxy"]
    await names.close()


async def test_failures_are_dropped_when_the_network_has_changed() -> None:
    """A name that could not be resolved while we were offline may exist."""
    clock, table = ManualClock(), Table(a=ErrorClass.DNS_FAILED, b=("1.2.3.4",))
    names = DnsResolver(OPEN, clock=clock, names=table, options=DnsOptions(negative_ttl_seconds=600))
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
    names = DnsResolver(OPEN, clock=ManualClock(), names=table, options=DnsOptions(max_names=2))

    for host in ("a", "b", "a", "c", "a", "b"):
        await names.prefetch(host)

    assert table.asked == ["a", "b", "c", "b"]
    await names.close()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "a.localhost", "a.b.LocalHost."])
async def test_localhost_is_loopback_without_a_lookup(host: str) -> None:
    """RFC 6761: a name server that answers for it is wrong or worse."""
    names = DnsResolver(OPEN, clock=ManualClock(), names=Table())

    assert is_loopback_name(host)
    assert await _addresses(names, host) == ["127.0.0.1"]
    with pytest.raises(FetchFailure) as raised:
        await DnsResolver(AddressGuard(AddressPolicy()), clock=ManualClock(), names=Table()).resolve(host, 80)
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
