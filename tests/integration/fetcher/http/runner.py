"""Requests as the service makes them: real connections, real limits (short ones), no broker."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from strider.contracts.generated.enums import ErrorClass
from strider.contracts.generated.events import FetchRequested
from strider.fetcher.adapters import RequestLimits
from strider.fetcher.adapters.http.address_guard import AddressGuard
from strider.fetcher.adapters.http.connector import ConnectorOptions, HttpConnector, receive_buffer_bytes
from strider.fetcher.adapters.http.dns import DnsOptions, DnsResolver
from strider.fetcher.adapters.http.name_servers import NameLookup, NameLookupError, ResolvedName
from strider.fetcher.adapters.http.request_runner import RequestRunner
from strider.fetcher.adapters.state.body_budget import PATIENCE_SECONDS, BodyBudget
from strider.fetcher.adapters.state.lease_marker import StartedLease
from strider.fetcher.core import (
    AddressPolicy,
    FetchEvents,
    Network,
    RedirectRules,
    build_identity,
    interpret_result,
    parse_proxy_url,
)
from strider.runtime.clocks import SystemClock

MARKED_AT_US = 1_700_000_000_000_000


def request(url: str, **more: Any) -> FetchRequested:
    """Return a request for a URL; everything that a test is not about is filled in."""
    told: dict[str, Any] = {
        "url_key": "k" * 64,
        "origin": url[: url.index("/", 8)] if "//" in url else url,
        "group": "host",
        "job_id": "job",
        "execution_id": "run",
        "crawl_spec_id": "spec",
        "fetch_sequence": 7,
        "lease_id": "3-a1-7",
        "try_number": 1,
        "issued_at_ms": 1,
        "lease_expires_at_ms": 2,
        "deadline_ms": 2_000,
    }
    return FetchRequested(url=url, **told | more)


@dataclass
class RunnerHarness:
    """Everything between a lease mark and the events of a result."""

    runner: RequestRunner
    rules: RedirectRules
    clock: SystemClock
    body_budget: BodyBudget
    connector: HttpConnector

    async def fetch(
        self, wanted: FetchRequested, *, marked_seconds_ago: float = 0.0, proxy: str = ""
    ) -> FetchEvents:
        """Run a request and return its events."""
        start = StartedLease(self.clock.monotonic() - marked_seconds_ago, MARKED_AT_US)
        done = await self.runner.run(wanted, start, proxy=parse_proxy_url(proxy) if proxy else None)
        done.held_body.release()
        return interpret_result(wanted, done.result, trace=done.trace, rules=self.rules)


Lookup = Callable[[str], Sequence[str]]


class TableLookup:
    """Looks names up by a function, without a name server."""

    def __init__(self, look: Lookup, *, seconds: float = 0.0) -> None:
        self._look = look
        self._seconds = seconds

    async def lookup(self, host: str, *, searches: bool = False, is_fresh: bool = False) -> ResolvedName:
        await asyncio.sleep(self._seconds)
        return ResolvedName(tuple(self._look(host)), 60.0)

    def close(self) -> None:
        """There is nothing to cancel."""


def lookup_from(**addresses: Sequence[str]) -> Lookup:
    """Resolve from a table; other names do not exist."""

    def look(host: str) -> Sequence[str]:
        try:
            return addresses[host.replace(".", "_")]
        except KeyError:
            raise NameLookupError(ErrorClass.DNS_NOT_FOUND, "Domain name not found") from None

    return look


@contextlib.asynccontextmanager
async def running_client(
    *,
    allow_private: bool = True,
    lookup: Lookup | NameLookup | None = None,
    ca_file: str = "",
    options: RequestLimits | None = None,
    budget_bytes: int = 64 * 1024 * 1024,
    names: DnsOptions | None = None,
    max_idle: int = 512,
    networks: tuple[Network, ...] = (),
    ports: frozenset[int] = frozenset(),
    must_tunnel: bool = False,
    connections: int = 256,
    groups_by_domain: bool = False,
    patience_seconds: float = PATIENCE_SECONDS,
) -> AsyncIterator[RunnerHarness]:
    """Open a runner and close it again."""
    clock = SystemClock()
    places = AddressPolicy(allow_private=allow_private, allowed_networks=networks, allowed_ports=ports)
    guard = AddressGuard(places)
    looks_up = TableLookup(lookup) if callable(lookup) else lookup
    resolver = DnsResolver(guard, clock=clock, names=looks_up, options=names)
    kept = ConnectorOptions(
        ca_file=ca_file,
        max_idle=max_idle,
        must_tunnel=must_tunnel,
        receive_buffer_bytes=receive_buffer_bytes(budget_bytes, connections=connections),
    )
    connector = HttpConnector(resolver, guard, options=kept)
    rules = RedirectRules(places, groups_by_domain=groups_by_domain)
    budget = BodyBudget(budget_bytes, clock=clock, readers=connections, patience_seconds=patience_seconds)
    requests = RequestRunner(
        connector,
        identity=build_identity(version="1.2.3", contact="https://example.org/bot"),
        redirect_rules=rules,
        budget=budget,
        clock=clock,
        worker_id="test",
        limits=options or RequestLimits(slow_body_seconds=0.4, min_bytes_per_second=1000),
    )
    try:
        yield RunnerHarness(requests, rules, clock, budget, connector)
    finally:
        await requests.close()
