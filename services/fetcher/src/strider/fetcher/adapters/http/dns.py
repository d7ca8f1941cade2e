"""DNS resolution: cached, limited in threads, and guarded against forbidden addresses.

The system's resolver runs in threads, once for any number of requests for a name. It reports no TTL, so
addresses are cached for a set time and failures for a shorter one. Every address of a name is checked: a
single forbidden one refuses the name, as a mix of both is an attack.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult

from strider.contracts.generated.enums import ErrorClass
from strider.messaging.ports import Clock
from strider.urls import registrable_domain

from .address_guard import AddressGuard
from .error_mapping import FetchFailure
from .timeline import CURRENT_TIMELINE

DnsLookup = Callable[[str], Sequence[str]]
"""Looks up the addresses of a name; may block, raises OSError."""

LOOPBACK_ADDRESSES: Final = ("127.0.0.1",)
MAX_ADDRESSES: Final = 8
"""Of one name; more addresses do not make a site easier to reach."""

DOMAIN_SHARE: Final = 8
"""One domain may use at most this fraction of the threads: a wildcard has any number of names."""

_NOT_FOUND_ERRNOS: Final = frozenset({socket.EAI_NONAME})
_NO_ADDRESS_ERRNOS: Final = frozenset(
    {getattr(socket, "EAI_NODATA", -5), getattr(socket, "EAI_ADDRFAMILY", -9)}
)


@dataclass(frozen=True, slots=True)
class DnsOptions:
    """Limits of name resolution."""

    ttl_seconds: float = 60.0
    """How long addresses are cached."""
    negative_ttl_seconds: float = 10.0
    timeout_seconds: float = 10.0
    max_names: int = 20_000
    """Cached names; the least recently used is dropped first."""
    threads: int = 32
    """Concurrent lookups."""


@dataclass(frozen=True, slots=True)
class _DnsCacheEntry:
    """Cached result of a lookup, and when it expires."""

    expires_at: float
    addresses: tuple[str, ...] = ()
    error_class: ErrorClass | None = None
    message: str = ""


@dataclass(slots=True)
class _DomainThreads:
    """Threads that one domain may use, and the number of its users and waiters."""

    free_threads: asyncio.Semaphore
    users: int = 0


class DnsResolver(AbstractResolver):
    """Resolver for all connections of a process."""

    def __init__(
        self,
        guard: AddressGuard,
        *,
        clock: Clock,
        options: DnsOptions | None = None,
        lookup: DnsLookup | None = None,
    ) -> None:
        self._guard = guard
        self._clock = clock
        self._options = options or DnsOptions()
        self._lookup = lookup or lookup_with_system
        self._threads = ThreadPoolExecutor(self._options.threads, thread_name_prefix="names")
        self._cache: OrderedDict[str, _DnsCacheEntry] = OrderedDict()
        self._lookups: dict[str, asyncio.Task[_DnsCacheEntry]] = {}
        self._threads_by_domain: dict[str, _DomainThreads] = {}
        """By registrable domain, while its names are being looked up."""
        self._max_threads_per_domain = max(1, self._options.threads // DOMAIN_SHARE)

    async def prefetch(self, host: str) -> None:
        """Resolve a name ahead of its use, which reports any failure."""
        if not _is_address_literal(host) and self._cached(host) is None:
            await self._lookup_once(host)

    def forget(self, host: str) -> None:
        """Drop a name whose addresses did not respond: its site may have moved."""
        self._cache.pop(host, None)

    def forget_failures(self) -> None:
        """Drop all failed names: the network has changed."""
        for host in [host for host, entry in self._cache.items() if entry.error_class is not None]:
            del self._cache[host]

    async def resolve_unchecked(self, host: str) -> tuple[str, ...]:
        """Return the addresses of a host of the operator's choice, unchecked; raises FetchFailure."""
        entry = self._cached(host) or await self._lookup_once(host)
        if entry.error_class is not None:
            raise FetchFailure(entry.error_class, entry.message)
        return entry.addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses to connect to (aiohttp's interface); raises FetchFailure."""
        del family  # both families are looked up: an address of the wrong one fails by itself
        timeline, started_at = CURRENT_TIMELINE.get(), self._clock.monotonic()
        entry = self._cached(host)
        if entry is None:
            if timeline is not None:
                timeline.is_resolving = True
            entry = await self._lookup_once(host)
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
        """Start no more lookups; running ones end by themselves."""
        for task in self._lookups.values():
            task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _refusal_of(self, entry: _DnsCacheEntry) -> FetchFailure | None:
        if entry.error_class is not None:
            return FetchFailure(entry.error_class, entry.message)
        for address in entry.addresses:
            if (refusal := self._guard.check(address)) is not None:
                return refusal
        return None

    def _cached(self, host: str) -> _DnsCacheEntry | None:
        entry = self._cache.get(host)
        if entry is None or entry.expires_at < self._clock.monotonic():
            return None
        self._cache.move_to_end(host)
        return entry

    async def _lookup_once(self, host: str) -> _DnsCacheEntry:
        """Look a name up, or join a running lookup; cancelling one waiter does not stop the others."""
        task = self._lookups.get(host)
        if task is None:
            task = self._lookups[host] = asyncio.create_task(self._resolve_name(host))
            task.add_done_callback(lambda _: self._lookups.pop(host, None))
        return await asyncio.shield(task)

    async def _resolve_name(self, host: str) -> _DnsCacheEntry:
        if is_loopback_name(host):
            return self._cache_addresses(host, LOOPBACK_ADDRESSES)
        domain = registrable_domain(host)
        try:
            async with asyncio.timeout(self._options.timeout_seconds):
                addresses = await self._lookup_in_thread(host, domain)
        except TimeoutError:
            return self._cache_failure(
                host, ErrorClass.DNS_TIMEOUT, "the name servers did not respond in time"
            )
        except (OSError, UnicodeError) as error:
            return self._cache_failure(host, _dns_error_class(error), str(error)[:200])
        if not addresses:
            return self._cache_failure(host, ErrorClass.DNS_EMPTY, "the name has no address")
        return self._cache_addresses(host, tuple(dict.fromkeys(addresses))[:MAX_ADDRESSES])

    async def _lookup_in_thread(self, host: str, domain: str) -> Sequence[str]:
        """Look a name up in a thread, once its domain has one free.

        So name servers that hang block no other domain. A thread is busy until the system gives
        up, even if the lookup has timed out.
        """
        loop = asyncio.get_running_loop()
        domain_threads = self._threads_by_domain.setdefault(
            domain, _DomainThreads(asyncio.Semaphore(self._max_threads_per_domain))
        )
        domain_threads.users += 1
        try:
            await domain_threads.free_threads.acquire()
        except asyncio.CancelledError:
            self._leave_domain(domain, domain_threads)
            raise

        def free(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the event loop has ended before the lookup
                loop.call_soon_threadsafe(self._leave_domain, domain, domain_threads, True)  # noqa: FBT003  # passed on to the callback

        lookup = self._threads.submit(self._lookup, host)
        lookup.add_done_callback(free)
        return await asyncio.wrap_future(lookup)

    def _leave_domain(self, domain: str, domain_threads: _DomainThreads, had_thread: bool = False) -> None:
        if had_thread:
            domain_threads.free_threads.release()
        domain_threads.users -= 1
        if not domain_threads.users:
            del self._threads_by_domain[domain]

    def _cache_addresses(self, host: str, addresses: tuple[str, ...]) -> _DnsCacheEntry:
        return self._store(
            host, _DnsCacheEntry(self._clock.monotonic() + self._options.ttl_seconds, addresses)
        )

    def _cache_failure(self, host: str, error_class: ErrorClass, message: str) -> _DnsCacheEntry:
        until = self._clock.monotonic() + self._options.negative_ttl_seconds
        return self._store(host, _DnsCacheEntry(until, error_class=error_class, message=message))

    def _store(self, host: str, entry: _DnsCacheEntry) -> _DnsCacheEntry:
        self._cache[host] = entry
        self._cache.move_to_end(host)
        while len(self._cache) > self._options.max_names:
            self._cache.popitem(last=False)
        return entry


def lookup_with_system(host: str) -> tuple[str, ...]:
    """Look a name up with the system's resolver; blocks."""
    infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(str(info[0]) for _, _, _, _, info in infos)


def is_loopback_name(host: str) -> bool:
    """Whether a name means this machine (RFC 6761), so that no name server is asked."""
    name = host.removesuffix(".").lower()
    return name == "localhost" or name.endswith(".localhost")


def _is_address_literal(host: str) -> bool:
    return ":" in host or host.startswith("[") or host[-1:].isdigit()


def _dns_error_class(error: Exception) -> ErrorClass:
    number = getattr(error, "errno", None)
    if number in _NOT_FOUND_ERRNOS or isinstance(error, UnicodeError):
        return ErrorClass.DNS_NOT_FOUND
    return ErrorClass.DNS_EMPTY if number in _NO_ADDRESS_ERRNOS else ErrorClass.DNS_FAILED


def _resolve_result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(
        hostname=host, host=address, port=port, family=family, proto=socket.IPPROTO_TCP, flags=0
    )
