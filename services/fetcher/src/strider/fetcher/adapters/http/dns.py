"""DNS resolution: cached for the TTL of a name, and guarded against forbidden addresses.

A name is looked up once for any number of requests. Its addresses are cached for its TTL, within bounds, and
failures for a shorter time. Every address of a name is checked: a single forbidden one refuses the name, as a
mix of both is an attack. The lookup itself is in `name_servers`.
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.core import is_loopback_name
from strider.messaging.ports import Clock

from .address_guard import AddressGuard
from .error_mapping import FetchFailure
from .name_servers import NameLookup, NameLookupError, NameServers, ResolvedName
from .timeline import CURRENT_TIMELINE

LOOPBACK_ADDRESSES: Final = ("127.0.0.1",)

LOCAL_FAILURE_SECONDS: Final = 1.0
"""How long a failure of this machine or its name servers is cached: it is not the name's."""


@dataclass(frozen=True, slots=True)
class DnsOptions:
    """Limits of name resolution."""

    min_ttl_seconds: float = 5.0
    """Shortest time for which addresses are cached."""
    max_ttl_seconds: float = 300.0
    """Longest time for which addresses are cached."""
    negative_ttl_seconds: float = 10.0
    timeout_seconds: float = 10.0
    max_names: int = 20_000
    """Cached names; the least recently used is dropped first."""


@dataclass(frozen=True, slots=True)
class _DnsCacheEntry:
    """Cached result of a lookup, and when it expires."""

    expires_at: float
    addresses: tuple[str, ...] = ()
    error_class: ErrorClass | None = None
    message: str = ""
    is_forgotten: bool = False
    """Whether its addresses did not respond, so that it has to be looked up without any cache."""


_NameKey = tuple[str, bool]
"""A name, and whether search domains are appended to it."""


class DnsResolver(AbstractResolver):
    """Resolver for all connections of a process."""

    def __init__(
        self,
        guard: AddressGuard,
        *,
        clock: Clock,
        options: DnsOptions | None = None,
        names: NameLookup | None = None,
    ) -> None:
        self._guard = guard
        self._clock = clock
        self._options = options or DnsOptions()
        self._names = names or NameServers()
        self._cache: OrderedDict[_NameKey, _DnsCacheEntry] = OrderedDict()
        self._lookups: dict[_NameKey, asyncio.Task[_DnsCacheEntry]] = {}

    async def prefetch(self, host: str) -> None:
        """Resolve a name ahead of its use, which reports any failure."""
        key = host, False
        if not _is_address_literal(host) and self._cached(key) is None:
            await self._lookup_once(key)

    def forget(self, host: str) -> None:
        """Drop a name whose addresses did not respond: its site may have moved."""
        key = host, False
        if (entry := self._cache.get(key)) is not None:
            self._cache[key] = replace(entry, expires_at=float("-inf"), is_forgotten=True)

    def forget_failures(self) -> None:
        """Drop all failed names: the network has changed."""
        for key in [key for key, entry in self._cache.items() if entry.error_class is not None]:
            del self._cache[key]

    async def resolve_unchecked(self, host: str) -> tuple[str, ...]:
        """Return the addresses of a host of the operator's choice, unchecked; raises FetchFailure.

        Its name may be one that the machine's search domains complete.
        """
        key = host, True
        entry = self._cached(key) or await self._lookup_once(key)
        if entry.error_class is not None:
            raise FetchFailure(entry.error_class, entry.message)
        return entry.addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses to connect to (aiohttp's interface); raises FetchFailure."""
        del family  # both families are looked up: an address of the wrong one fails by itself
        timeline, started_at = CURRENT_TIMELINE.get(), self._clock.monotonic()
        entry = self._cached((host, False))
        if entry is None:
            if timeline is not None:
                timeline.is_resolving = True
            entry = await self._lookup_once((host, False))
        if timeline is not None:
            timeline.is_resolving = False
            timeline.dns_seconds += self._clock.monotonic() - started_at
        failure = self._refusal_of(entry)
        if failure is not None:
            if timeline is not None:
                timeline.failure = failure
            raise failure
        return [_resolve_result(host, address, port) for address in entry.addresses]

    async def close(self) -> None:
        """Cancel all lookups."""
        for task in self._lookups.values():
            task.cancel()
        self._names.close()

    def _refusal_of(self, entry: _DnsCacheEntry) -> FetchFailure | None:
        if entry.error_class is not None:
            return FetchFailure(entry.error_class, entry.message)
        for address in entry.addresses:
            if (refusal := self._guard.check(address)) is not None:
                return refusal
        return None

    def _cached(self, key: _NameKey) -> _DnsCacheEntry | None:
        entry = self._cache.get(key)
        if entry is None or entry.expires_at < self._clock.monotonic():
            return None
        self._cache.move_to_end(key)
        return entry

    async def _lookup_once(self, key: _NameKey) -> _DnsCacheEntry:
        """Look a name up, or join a running lookup; cancelling one waiter does not stop the others."""
        task = self._lookups.get(key)
        if task is None:
            task = self._lookups[key] = asyncio.create_task(self._resolve_name(key))
            task.add_done_callback(lambda _: self._lookups.pop(key, None))
        return await asyncio.shield(task)

    async def _resolve_name(self, key: _NameKey) -> _DnsCacheEntry:
        host, searches = key
        if is_loopback_name(host):
            return self._cache_addresses(key, ResolvedName(LOOPBACK_ADDRESSES, self._options.max_ttl_seconds))
        before = self._cache.get(key)
        is_fresh = before is not None and before.is_forgotten
        try:
            async with asyncio.timeout(self._options.timeout_seconds):
                found = await self._names.lookup(host.removesuffix("."), searches=searches, is_fresh=is_fresh)
        except TimeoutError:
            return self._cache_failure(
                key, ErrorClass.DNS_TIMEOUT, "the name servers did not respond in time"
            )
        except NameLookupError as error:
            return self._cache_failure(key, error.error_class, error.message[:200])
        if not found.addresses:
            return self._cache_failure(key, ErrorClass.DNS_EMPTY, "the name has no address")
        return self._cache_addresses(key, found)

    def _cache_addresses(self, key: _NameKey, found: ResolvedName) -> _DnsCacheEntry:
        options = self._options
        seconds = min(max(found.ttl_seconds, options.min_ttl_seconds), options.max_ttl_seconds)
        return self._store(key, _DnsCacheEntry(self._clock.monotonic() + seconds, found.addresses))

    def _cache_failure(self, key: _NameKey, error_class: ErrorClass, message: str) -> _DnsCacheEntry:
        seconds = self._options.negative_ttl_seconds
        if error_class is ErrorClass.OFFLINE:
            seconds = min(seconds, LOCAL_FAILURE_SECONDS)
        until = self._clock.monotonic() + seconds
        return self._store(key, _DnsCacheEntry(until, error_class=error_class, message=message))

    def _store(self, key: _NameKey, entry: _DnsCacheEntry) -> _DnsCacheEntry:
        self._cache[key] = entry
        self._cache.move_to_end(key)
        while len(self._cache) > self._options.max_names:
            self._cache.popitem(last=False)
        return entry


def _is_address_literal(host: str) -> bool:
    return ":" in host or host.startswith("[") or host[-1:].isdigit()


def _resolve_result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(
        hostname=host, host=address, port=port, family=family, proto=socket.IPPROTO_TCP, flags=0
    )
