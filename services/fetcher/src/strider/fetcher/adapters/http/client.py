"""HTTP client of the fetcher: checks, lease mark, request, in the order of the guarantees.

Network, memory budget, open files and DNS come before the mark, as a marked request must start within 2 s.
After the mark a request always has a result. A failure that our own network or machine caused is OFFLINE.
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
from strider.fetcher.adapters.state.lease_marker import LeaseMarker
from strider.fetcher.adapters.state.open_files import FreeFiles
from strider.fetcher.adapters.state.sender_shares import ResponsiveHosts, request_path
from strider.fetcher.core import (
    AddressPolicy,
    CrawlerIdentity,
    FailedFetch,
    FetchedResponse,
    FinishedRequest,
    ProxyHealth,
    RedirectRules,
    build_identity,
    may_be_local_outage,
    parse_proxy_url,
    url_refusal,
)
from strider.fetcher.settings import FetcherSettings
from strider.frontier.ports import LeaseMarks
from strider.messaging.ports import Clock
from strider.politeness import DecryptHeader, refuse_encrypted
from strider.politeness.rate_window import RateWindows
from strider.runtime.version import strider_version
from strider.urls import domain_of, host_of

from .address_guard import AddressGuard
from .connector import ConnectorOptions, HttpConnector, receive_buffer_bytes
from .deadlines import RequestLimits
from .dns import DnsOptions, DnsResolver
from .error_mapping import FetchFailure
from .header_decryption import decrypt_headers
from .name_servers import NameServers
from .request_runner import RequestRunner

MIB: Final = 1024 * 1024

ANY_ADDRESS: Final = AddressPolicy(allow_private=True)
"""Allows every address: used to decide whether a name is resolved ahead of the mark; refusals follow after
it.
"""


class FetchClient:
    """Marks leases and makes their requests."""

    def __init__(  # one argument for each part of a request, in the order of their use
        self,
        runner: RequestRunner,
        *,
        lease_marker: LeaseMarker,
        resolver: DnsResolver,
        body_budget: BodyBudget,
        connectivity: ConnectivityMonitor,
        free_files: FreeFiles,
        cookie_jars: CookieJars,
        decrypt_header: DecryptHeader = refuse_encrypted,
        proxies: ProxyPool | None = None,
        hosts: ResponsiveHosts | None = None,
    ) -> None:
        self._runner = runner
        self._lease_marker = lease_marker
        self._resolver = resolver
        self._body_budget = body_budget
        self._connectivity = connectivity
        self._free_files = free_files
        self._cookie_jars = cookie_jars
        self._decrypt_header = decrypt_header
        self._hosts = hosts
        self.proxies = proxies
        """If there is a pool, every request goes through one of its proxies."""

    async def fetch(self, request: FetchRequested) -> FinishedRequest | None:
        """Mark the lease and make the request; None if the lease is gone.

        Raises Unavailable before anything is sent, if something that is needed for a request is missing.
        """
        if self._lease_marker.is_over(request):
            return None
        await self._connectivity.require_online()
        await self._body_budget.wait_for_capacity()
        self._free_files.require()
        proxy, refusal, sent = None, None, request
        if url_refusal(request.url, policy=ANY_ADDRESS) is None:
            await self._resolver.prefetch(host_of(request.url))
            proxy = None if self.proxies is None else await self.proxies.acquire(domain_of(request.url))
            sent, refusal = self._with_clear_headers(request)
        sent, jar = await self._cookie_jars.with_cookies(sent) if request.cookie_jar else (sent, ())
        lease = await self._lease_marker.mark_started(request)
        if lease is None:
            return None
        share = () if self._hosts is None else request_path(request, self._hosts)
        finished = await self._runner.run(sent, lease, proxy=proxy, refusal=refusal, share=share)
        finished = await self._detect_outage(finished)
        if self._hosts is not None:
            self._hosts.record(request.group, finished)
        if request.cookie_jar and await self._cookie_jars.store_cookies(request, finished.result, jar):
            finished = replace(finished, trace=replace(finished.trace, cookies_changed=True))
        if proxy is not None and self.proxies is not None:
            self.proxies.record_result(proxy, finished.result, seconds=finished.trace.ttfb_us / 1_000_000)
        return finished

    def finish_within(self, seconds: float) -> None:
        """End every request within a time; those that are not over by then end as interrupted."""
        self._connectivity.shut_down()
        self._runner.finish_within(seconds)

    async def close(self) -> None:
        """Close the connections."""
        await self._connectivity.close()
        if self.proxies is not None:
            await self.proxies.close()
        await self._runner.close()

    def _with_clear_headers(self, request: FetchRequested) -> tuple[FetchRequested, FetchFailure | None]:
        """Return the request to send, or why it must not be sent, which is its result once it is marked."""
        if not request.header_names:
            return request, None
        try:
            return decrypt_headers(request, self._decrypt_header), None
        except FetchFailure as failure:
            return request, failure

    async def _detect_outage(self, finished: FinishedRequest) -> FinishedRequest:
        """Replace a failure by OFFLINE if our own network caused it, so that no host is blamed."""
        result = finished.result
        if isinstance(result, FetchedResponse):
            self._connectivity.record_response(finished.trace.remote_address)
            return finished
        if result.error_class == ErrorClass.OFFLINE:  # as a socket that could not be made
            self._free_files.recheck()
        if not may_be_local_outage(result.error_class) or not await self._connectivity.is_outage():
            return finished
        message = f"no network, seen as {result.error_class}: {result.message}"
        offline = FailedFetch(
            ErrorClass.OFFLINE, message, result.head, result.body_bytes, result.redirect_chain
        )
        return replace(finished, result=offline)


def open_fetch_client(
    settings: FetcherSettings,
    marks: LeaseMarks,
    *,
    clock: Clock,
    process_name: str,
    cookie_store: CookieJarStore | None = None,
    decrypt_header: DecryptHeader = refuse_encrypted,
    hosts: ResponsiveHosts | None = None,
) -> FetchClient:
    """Build a client from the settings; nothing is opened before the first request.

    `process_name` must be unique to this process. `cookie_store` keeps the cookies of runs that use a jar;
    without it memory does. `decrypt_header` has the keys of personal headers, `hosts` the shares of senders.
    """
    guard = AddressGuard(address_policy_of(settings), has_contact=bool(settings.crawl.contact))
    resolver = _resolver(settings, guard, clock=clock)
    connector = HttpConnector(resolver, guard, options=_connector_options(settings))
    budget = BodyBudget(settings.in_flight_mb * MIB, clock=clock, readers=settings.concurrency)
    runner = RequestRunner(
        connector,
        identity=_identity(settings),
        redirect_rules=redirect_rules_of(settings),
        budget=budget,
        clock=clock,
        worker_id=process_name,
        limits=_request_limits(settings),
    )
    return FetchClient(
        runner,
        lease_marker=LeaseMarker(marks, clock=clock, process_name=process_name),
        resolver=resolver,
        body_budget=budget,
        connectivity=_connectivity(settings, resolver, clock=clock),
        free_files=FreeFiles(clock),
        cookie_jars=CookieJars(cookie_store or MemoryCookieJars(), clock=clock),
        decrypt_header=decrypt_header,
        proxies=_open_proxy_pool(settings, connector.proxy_connector, clock=clock),
        hosts=hosts,
    )


def _resolver(settings: FetcherSettings, guard: AddressGuard, *, clock: Clock) -> DnsResolver:
    names = NameServers(settings.dns_servers)
    return DnsResolver(guard, clock=clock, options=_dns_options(settings), names=names)


def _connectivity(settings: FetcherSettings, resolver: DnsResolver, *, clock: Clock) -> ConnectivityMonitor:
    checks = ConnectivityOptions(settings.network_checks, check_seconds=settings.network_check_seconds)
    return ConnectivityMonitor(checks, clock=clock, on_change=resolver.forget_failures)


def _identity(settings: FetcherSettings) -> CrawlerIdentity:
    return build_identity(
        version=strider_version(),
        contact=settings.crawl.contact,
        user_agent=settings.crawl.user_agent,
        use_variants=settings.use_random_user_agent,
    )


def _open_proxy_pool(
    settings: FetcherSettings, connector: ProxyConnector, *, clock: Clock
) -> ProxyPool | None:
    if not settings.proxies_enabled:
        return None
    rate_windows = RateWindows(max_requests=settings.proxy_requests_per_second)
    pool = ProxyPool(clock=clock, windows=rate_windows, check_proxy=connector.check_proxy)
    pool.replace_all((parse_proxy_url(url.get_secret_value()), ProxyHealth()) for url in settings.proxy_urls)
    return pool


def redirect_rules_of(settings: FetcherSettings) -> RedirectRules:
    """Return the limits of redirects."""
    max_hops = settings.max_redirects if settings.follow_redirects else 0
    by_domain = settings.crawl.group_by == "domain"
    return RedirectRules(address_policy_of(settings), max_hops=max_hops, groups_by_domain=by_domain)


def address_policy_of(settings: FetcherSettings) -> AddressPolicy:
    """Return which addresses and ports are allowed."""
    return AddressPolicy(
        allow_private=settings.crawl.allow_private,
        allowed_networks=settings.allow_networks,
        allowed_ports=frozenset(settings.ports),
    )


def _dns_options(settings: FetcherSettings) -> DnsOptions:
    return DnsOptions(
        min_ttl_seconds=min(settings.dns_min_ttl_seconds, settings.dns_ttl_seconds),
        max_ttl_seconds=settings.dns_ttl_seconds,
        negative_ttl_seconds=settings.dns_negative_ttl_seconds,
        timeout_seconds=settings.dns_timeout_seconds,
    )


def _connector_options(settings: FetcherSettings) -> ConnectorOptions:
    return ConnectorOptions(
        connect_timeout_seconds=settings.connect_timeout_seconds,
        keep_alive_seconds=settings.keep_alive_seconds,
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
