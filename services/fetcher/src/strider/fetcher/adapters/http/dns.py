"""Names to addresses: cached, bounded, and never to an address that may not be asked.

The system's resolver is asked in threads of ours, a name at a time however many want it. It tells
no lifetimes, so answers live for a set time, refusals for a shorter one. Every address of an answer
is judged: one that points inwards spoils the answer, because whoever mixes them means no good.
Decides nothing about requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.core import Places
from strider.messaging.ports import Clock
from strider.urls import registrable_domain

from .error_mapping import FetchFailure
from .timeline import CURRENT

DnsLookup = Callable[[str], Sequence[str]]
"""Asks for the addresses of a name; may block, and raises OSError."""

LOOPBACK_ADDRESSES: Final = ("127.0.0.1",)
MAX_ADDRESSES: Final = 8
"""Of one name; who has more is not better reached by trying them."""

DOMAIN_SHARE: Final = 8
"""Names of one domain have one of so many parts of the threads at most: a wildcard has no end of names."""

_NAMELESS: Final = (
    ErrorClass.NO_CONTACT,
    "STRIDER_CONTACT is not set: sites could not tell whom to write to, so only loopback is asked",
)

_NOT_FOUND_ERRNOS: Final = frozenset({socket.EAI_NONAME})
_EMPTY: Final = frozenset({getattr(socket, "EAI_NODATA", -5), getattr(socket, "EAI_ADDRFAMILY", -9)})


@dataclass(frozen=True, slots=True)
class DnsOptions:
    """How names are resolved."""

    keep_seconds: float = 60.0
    """How long an answer serves."""
    negative_ttl_seconds: float = 10.0
    timeout_seconds: float = 10.0
    max_names: int = 20_000
    """Names that are remembered; the one that was used longest ago goes first."""
    threads: int = 32
    """Look-ups at a time."""


@dataclass(frozen=True, slots=True)
class _DnsCacheEntry:
    """What a name came to, and until when that serves."""

    until: float
    addresses: tuple[str, ...] = ()
    error: ErrorClass | None = None
    message: str = ""


@dataclass(slots=True)
class _DomainThreads:
    """The threads that one domain may keep busy, and who uses them or waits for one."""

    turns: asyncio.Semaphore
    users: int = 0


class Guard:
    """Which addresses may be connected to."""

    def __init__(self, policy: Places, *, has_contact: bool = True) -> None:
        """Without a contact, whom sites could write to, only loopback is asked."""
        self._places = policy
        self._has_contact = has_contact

    def check(self, address: str) -> FetchFailure | None:
        """Judge an address as the socket will have it."""
        refused = self._places.address_refusal(address)
        if refused is None:
            return None if self._has_contact or ip_address(address).is_loopback else FetchFailure(*_NAMELESS)
        return FetchFailure(ErrorClass.REFUSED_ADDRESS, f"{address} is a {refused.detail.replace('_', ' ')}")


class Names(AbstractResolver):
    """The resolver of all connections of a process."""

    def __init__(
        self,
        guard: Guard,
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
        self._known: OrderedDict[str, _DnsCacheEntry] = OrderedDict()
        self._asking: dict[str, asyncio.Task[_DnsCacheEntry]] = {}
        self._threads_by_domain: dict[str, _DomainThreads] = {}
        """By registrable domain, while names of it are asked for."""
        self._max_threads_per_domain = max(1, self._options.threads // DOMAIN_SHARE)

    async def prefetch(self, host: str) -> None:
        """Have a name resolved before its time runs; what comes of it shows when it is used."""
        if not _is_address_literal(host) and self._fresh(host) is None:
            await self._find(host)

    def forget(self, host: str) -> None:
        """Let a name be asked for anew whose addresses were of no use: its site may have moved."""
        self._known.pop(host, None)

    def forget_failures(self) -> None:
        """Let names be asked for anew that could not be resolved: the network has changed."""
        for host in [host for host, known in self._known.items() if known.error is not None]:
            del self._known[host]

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Give the addresses of a machine of our own choice, unjudged; raises Failure."""
        known = self._fresh(host) or await self._find(host)
        if known.error is not None:
            raise FetchFailure(known.error, known.message)
        return known.addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Give the addresses to connect to (the library's port); raises Failure."""
        del family  # both are asked for: an address of the wrong kind fails by itself
        exchange, began = CURRENT.get(), self._clock.monotonic()
        known = self._fresh(host)
        if known is None:
            if exchange is not None:
                exchange.is_resolving = True
            known = await self._find(host)
        if exchange is not None:
            exchange.is_resolving = False
            exchange.dns_seconds += self._clock.monotonic() - began
        failure = self._judge(known)
        if failure is not None:
            if exchange is not None:
                exchange.failure = failure
            raise failure
        return [_resolve_result(host, address, port) for address in known.addresses]

    async def close(self) -> None:
        """Begin no more look-ups; those that run end by themselves."""
        for task in self._asking.values():
            task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _judge(self, entry: _DnsCacheEntry) -> FetchFailure | None:
        if entry.error is not None:
            return FetchFailure(entry.error, entry.message)
        for address in entry.addresses:
            if (refusal := self._guard.check(address)) is not None:
                return refusal
        return None

    def _fresh(self, host: str) -> _DnsCacheEntry | None:
        known = self._known.get(host)
        if known is None or known.until < self._clock.monotonic():
            return None
        self._known.move_to_end(host)
        return known

    async def _find(self, host: str) -> _DnsCacheEntry:
        """Ask, or join whoever asks; who leaves early does not stop the others."""
        task = self._asking.get(host)
        if task is None:
            task = self._asking[host] = asyncio.create_task(self._ask(host))
            task.add_done_callback(lambda _: self._asking.pop(host, None))
        return await asyncio.shield(task)

    async def _ask(self, host: str) -> _DnsCacheEntry:
        if is_loopback_name(host):
            return self._keep(host, LOOPBACK_ADDRESSES)
        domain = registrable_domain(host)
        try:
            async with asyncio.timeout(self._options.timeout_seconds):
                addresses = await self._looked_up(host, domain)
        except TimeoutError:
            return self._cache_failure(host, ErrorClass.DNS_TIMEOUT, "the name servers did not answer")
        except (OSError, UnicodeError) as error:
            return self._cache_failure(host, _class_of(error), str(error)[:200])
        if not addresses:
            return self._cache_failure(host, ErrorClass.DNS_EMPTY, "the name has no address")
        return self._keep(host, tuple(dict.fromkeys(addresses))[:MAX_ADDRESSES])

    async def _looked_up(self, host: str, domain: str) -> Sequence[str]:
        """Ask in a thread, when the domain has one to spare: name servers that hang hold up no other domain.

        A thread is busy until the system gives up, however soon nobody waits for it any more.
        """
        loop = asyncio.get_running_loop()
        share = self._threads_by_domain.setdefault(
            domain, _DomainThreads(asyncio.Semaphore(self._max_threads_per_domain))
        )
        share.users += 1
        try:
            await share.turns.acquire()
        except asyncio.CancelledError:
            self._leave(domain, share)
            raise

        def free(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended before the system did
                loop.call_soon_threadsafe(self._leave, domain, share, True)  # noqa: FBT003  # a call, told later

        asked = self._threads.submit(self._lookup, host)
        asked.add_done_callback(free)
        return await asyncio.wrap_future(asked)

    def _leave(self, domain: str, domain_threads: _DomainThreads, had_thread: bool = False) -> None:
        if had_thread:
            domain_threads.turns.release()
        domain_threads.users -= 1
        if not domain_threads.users:
            del self._threads_by_domain[domain]

    def _keep(self, host: str, addresses: tuple[str, ...]) -> _DnsCacheEntry:
        return self._remember(
            host, _DnsCacheEntry(self._clock.monotonic() + self._options.keep_seconds, addresses)
        )

    def _cache_failure(self, host: str, error_class: ErrorClass, message: str) -> _DnsCacheEntry:
        until = self._clock.monotonic() + self._options.negative_ttl_seconds
        return self._remember(host, _DnsCacheEntry(until, error=error_class, message=message))

    def _remember(self, host: str, entry: _DnsCacheEntry) -> _DnsCacheEntry:
        self._known[host] = entry
        self._known.move_to_end(host)
        while len(self._known) > self._options.max_names:
            self._known.popitem(last=False)
        return entry


def lookup_with_system(host: str) -> tuple[str, ...]:
    """Ask as every program of this machine asks; blocks."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(str(place[0]) for _, _, _, _, place in found)


def is_loopback_name(host: str) -> bool:
    """Say whether a name means this machine wherever it is asked (RFC 6761): no server is to be asked."""
    name = host.removesuffix(".").lower()
    return name == "localhost" or name.endswith(".localhost")


def _is_address_literal(host: str) -> bool:
    return ":" in host or host.startswith("[") or host[-1:].isdigit()


def _class_of(error: Exception) -> ErrorClass:
    number = getattr(error, "errno", None)
    if number in _NOT_FOUND_ERRNOS or isinstance(error, UnicodeError):
        return ErrorClass.DNS_NOT_FOUND
    return ErrorClass.DNS_EMPTY if number in _EMPTY else ErrorClass.DNS_FAILED


def _resolve_result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(
        hostname=host, host=address, port=port, family=family, proto=socket.IPPROTO_TCP, flags=0
    )
