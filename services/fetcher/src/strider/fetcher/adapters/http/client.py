"""From a request to what came of it, in the order that keeps its promises.

A network, room for a body, and the name resolved, before the mark: the mark's time is short. After
it nothing may fail but by an answer; and a failure for which our own network is to blame is told as such.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from strider.contracts.generated.enums import ErrorClass
from strider.contracts.generated.events import FetchRequested
from strider.fetcher.adapters.proxies.connector import ProxyConnector
from strider.fetcher.adapters.proxies.pool import ProxyPool
from strider.fetcher.adapters.state.body_budget import BodyBudget
from strider.fetcher.adapters.state.connectivity import ConnectivityMonitor, ConnectivityOptions
from strider.fetcher.adapters.state.cookie_jars import CookieJars, CookieJarStore, MemoryCookieJars
from strider.fetcher.adapters.state.lease_marker import Leases
from strider.fetcher.core import (
    FailedFetch,
    FetchedResponse,
    Places,
    RedirectRules,
    Standing,
    identity_of,
    may_be_local_outage,
    parse_proxy_url,
    url_refusal,
)
from strider.fetcher.settings import FetcherSettings
from strider.frontier.ports import LeaseMarks
from strider.messaging.ports import Clock
from strider.politeness.rate_window import RateWindows
from strider.runtime.version import strider_version
from strider.urls import domain_of, host_of

from .connector import ConnectorOptions, HttpConnector, receive_buffer_bytes
from .deadlines import RequestLimits
from .dns import DnsOptions, Guard, Names
from .request_runner import Fetched, RequestRunner
from .transport import EngineTransport

MIB: Final = 1024 * 1024

ANY_ADDRESS: Final = Places(allow_private=True)
"""Names of which it is worth to know the address before the mark; they are judged after it."""


class FetchClient:
    """Marks leases and makes their requests."""

    def __init__(  # what is needed for a request, in its order
        self,
        runner: RequestRunner,
        *,
        lease_marker: Leases,
        resolver: Names,
        body_budget: BodyBudget,
        uplink: ConnectivityMonitor,
        jars: CookieJars,
        proxies: ProxyPool | None = None,
    ) -> None:
        self._requests = runner
        self._leases = lease_marker
        self._names = resolver
        self._budget = body_budget
        self._connectivity = uplink
        self._jars = jars
        self.proxies = proxies
        """Where there is a rotation, nothing is asked but by way of one of its proxies."""

    async def fetch(self, request: FetchRequested) -> Fetched | None:
        """Give what came of it; None where the lease is gone. Raises Unavailable before anything is sent."""
        await self._connectivity.require()
        await self._budget.wait_for_room()
        via = None
        if url_refusal(request.url, policy=ANY_ADDRESS) is None:
            await self._names.prefetch(host_of(request.url))
            via = None if self.proxies is None else await self.proxies.acquire(domain_of(request.url))
        sent, jar = await self._jars.dressed(request) if request.cookie_jar else (request, ())
        start = await self._leases.mark_started(request)
        if start is None:
            return None
        done = await self._detect_outage(await self._requests.run(sent, start, via=via))
        if request.cookie_jar and await self._jars.store_cookies(request, done.result, jar):
            done = replace(done, made=replace(done.trace, cookies_changed=True))
        if via is not None and self.proxies is not None:
            self.proxies.record_result(via, done.result, seconds=done.trace.ttfb_us / 1_000_000)
        return done

    def finish_within(self, seconds: float) -> None:
        """End everything within a time, interrupted where it must be."""
        self._connectivity.shut_down()
        self._requests.finish_within(seconds)

    async def close(self) -> None:
        """Close the connections."""
        await self._connectivity.close()
        if self.proxies is not None:
            await self.proxies.close()
        await self._requests.close()

    async def _detect_outage(self, finished: Fetched) -> Fetched:
        """Tell a failure as ours where it is: then it is held against nobody."""
        came = finished.result
        if isinstance(came, FetchedResponse):
            self._connectivity.record_response(finished.trace.remote_address)
            return finished
        if not may_be_local_outage(came.error_class) or not await self._connectivity.is_down():
            return finished
        message = f"no network, seen as {came.error_class}: {came.message}"
        return replace(
            finished,
            came=FailedFetch(ErrorClass.OFFLINE, message, came.head, came.body_bytes, came.redirect_chain),
        )


def open_fetch_client(
    settings: FetcherSettings,
    marks: LeaseMarks,
    *,
    clock: Clock,
    process_name: str,
    jars: CookieJarStore | None = None,
) -> FetchClient:
    """Put together what asks; opens nothing before the first request. `name` is this process's alone.

    `jars` keeps the cookies of runs that have some; without it they are kept in memory.
    """
    crawl = settings.crawl
    guard = Guard(address_policy_of(settings), has_contact=bool(crawl.contact))
    names = Names(guard, clock=clock, options=_dns_options(settings))
    engine = HttpConnector(names, guard, options=_connector_options(settings))
    budget = BodyBudget(settings.in_flight_mb * MIB)
    requests = RequestRunner(
        EngineTransport(engine),
        identity=identity_of(
            version=strider_version(),
            contact=crawl.contact,
            user_agent=crawl.user_agent,
            use_variants=settings.use_random_user_agent,
        ),
        redirect_rules=rules_of(settings),
        budget=budget,
        clock=clock,
        worker_id=process_name,
        limits=_request_limits(settings),
    )
    looking = ConnectivityOptions(settings.network_checks, look_seconds=settings.network_check_seconds)
    uplink = ConnectivityMonitor(looking, clock=clock, on_change=names.forget_failures)
    leases = Leases(marks, clock=clock, process_name=process_name)
    proxies = _rotation(settings, engine.tunnels, clock=clock) if settings.proxies_enabled else None
    return FetchClient(
        requests,
        lease_marker=leases,
        resolver=names,
        body_budget=budget,
        uplink=uplink,
        jars=CookieJars(jars or MemoryCookieJars(), clock=clock),
        proxies=proxies,
    )


def _rotation(settings: FetcherSettings, tunnels: ProxyConnector, *, clock: Clock) -> ProxyPool:
    windows = RateWindows(max_requests=settings.proxy_requests_per_second)
    rotation = ProxyPool(clock=clock, windows=windows, check_proxy=tunnels.check_proxy)
    rotation.replace_all((parse_proxy_url(url.get_secret_value()), Standing()) for url in settings.proxy_urls)
    return rotation


def rules_of(settings: FetcherSettings) -> RedirectRules:
    """Say what redirects may do."""
    max_hops = settings.max_redirects if settings.follow_redirects else 0
    return RedirectRules(address_policy_of(settings), max_hops=max_hops)


def address_policy_of(settings: FetcherSettings) -> Places:
    """Say which addresses and ports are open."""
    return Places(
        allow_private=settings.crawl.allow_private,
        networks=settings.allow_networks,
        allowed_ports=frozenset(settings.ports),
    )


def _dns_options(settings: FetcherSettings) -> DnsOptions:
    return DnsOptions(
        keep_seconds=settings.dns_ttl_seconds,
        negative_ttl_seconds=settings.dns_negative_ttl_seconds,
        timeout_seconds=settings.dns_timeout_seconds,
        threads=settings.dns_threads,
    )


def _connector_options(settings: FetcherSettings) -> ConnectorOptions:
    return ConnectorOptions(
        connect_timeout_seconds=settings.connect_timeout_seconds,
        keep_seconds=settings.keep_alive_seconds,
        max_idle=settings.max_idle_connections,
        ca_file=settings.ca_file,
        must_tunnel=settings.proxy_must_tunnel,
        receive_buffer_bytes=receive_buffer_bytes(
            settings.in_flight_mb * MIB, connections=settings.concurrency
        ),
    )


def _request_limits(settings: FetcherSettings) -> RequestLimits:
    return RequestLimits(
        max_deadline_seconds=settings.max_deadline_seconds,
        slow_body_seconds=settings.slow_body_seconds,
        min_bytes_per_second=settings.min_bytes_per_second,
    )
