"""From a request to what came of it, in the order that keeps its promises.

A network, room for a body, and the name resolved, before the mark: the mark's time is short. After
it nothing may fail but by an answer; and a failure for which our own network is to blame is told as such.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from strider.contracts.generated.enums import ErrorClass
from strider.contracts.generated.events import FetchRequested
from strider.fetcher.core import (
    Answer,
    Failed,
    Places,
    RedirectRules,
    Standing,
    identity_of,
    is_doubtful,
    proxy_of,
    url_refusal,
)
from strider.fetcher.settings import FetcherSettings
from strider.frontier.ports import LeaseMarks
from strider.messaging.ports import Clock
from strider.politeness.rate_window import RateWindows
from strider.runtime.version import strider_version
from strider.urls import domain_of, host_of

from .budget import Budget
from .course import RequestOptions
from .engine import Engine, EngineOptions, receive_bytes
from .jars import Jars, JarStore, MemoryJars
from .leases import Leases
from .names import Guard, NameOptions, Names
from .requests import Fetched, Requests
from .rotation import Rotation
from .transport import EngineTransport
from .tunnels import Tunnels
from .uplink import Uplink, UplinkOptions

MIB: Final = 1024 * 1024

ANYWHERE: Final = Places(allow_private=True)
"""Names of which it is worth to know the address before the mark; they are judged after it."""


class Asker:
    """Marks leases and makes their requests."""

    def __init__(  # what is needed for a request, in its order
        self,
        requests: Requests,
        *,
        leases: Leases,
        names: Names,
        budget: Budget,
        uplink: Uplink,
        jars: Jars,
        proxies: Rotation | None = None,
    ) -> None:
        self._requests = requests
        self._leases = leases
        self._names = names
        self._budget = budget
        self._uplink = uplink
        self._jars = jars
        self.proxies = proxies
        """Where there is a rotation, nothing is asked but by way of one of its proxies."""

    async def ask(self, request: FetchRequested) -> Fetched | None:
        """Give what came of it; None where the lease is gone. Raises Unavailable before anything is sent."""
        await self._uplink.require()
        await self._budget.room()
        via = None
        if url_refusal(request.url, places=ANYWHERE) is None:
            await self._names.warm(host_of(request.url))
            via = None if self.proxies is None else await self.proxies.next(domain_of(request.url))
        sent, jar = await self._jars.dressed(request) if request.cookie_jar else (request, ())
        start = await self._leases.start(request)
        if start is None:
            return None
        done = await self._blamed(await self._requests.make(sent, start, via=via))
        if request.cookie_jar and await self._jars.take(request, done.came, jar):
            done = replace(done, made=replace(done.made, cookies_changed=True))
        if via is not None and self.proxies is not None:
            self.proxies.note(via, done.came, seconds=done.made.ttfb_us / 1_000_000)
        return done

    def finish_within(self, seconds: float) -> None:
        """End everything within a time, interrupted where it must be."""
        self._uplink.end()
        self._requests.finish_within(seconds)

    async def close(self) -> None:
        """Close the connections."""
        await self._uplink.close()
        if self.proxies is not None:
            await self.proxies.close()
        await self._requests.close()

    async def _blamed(self, done: Fetched) -> Fetched:
        """Tell a failure as ours where it is: then it is held against nobody."""
        came = done.came
        if isinstance(came, Answer):
            self._uplink.note_answer(done.made.remote_address)
            return done
        if not is_doubtful(came.error) or not await self._uplink.is_down():
            return done
        message = f"no network, seen as {came.error}: {came.message}"
        return replace(
            done, came=Failed(ErrorClass.OFFLINE, message, came.head, came.body_bytes, came.came_by)
        )


def open_asker(
    settings: FetcherSettings, marks: LeaseMarks, *, clock: Clock, name: str, jars: JarStore | None = None
) -> Asker:
    """Put together what asks; opens nothing before the first request. `name` is this process's alone.

    `jars` keeps the cookies of runs that have some; without it they are kept in memory.
    """
    crawl = settings.crawl
    guard = Guard(places_of(settings), has_contact=bool(crawl.contact))
    names = Names(guard, clock=clock, options=_name_options(settings))
    engine = Engine(names, guard, options=_engine_options(settings))
    budget = Budget(settings.in_flight_mb * MIB)
    requests = Requests(
        EngineTransport(engine),
        identity=identity_of(
            version=strider_version(),
            contact=crawl.contact,
            user_agent=crawl.user_agent,
            is_varied=settings.use_random_user_agent,
        ),
        rules=rules_of(settings),
        budget=budget,
        clock=clock,
        worker_id=name,
        options=_request_options(settings),
    )
    looking = UplinkOptions(settings.network_checks, look_seconds=settings.network_look_seconds)
    uplink = Uplink(looking, clock=clock, on_change=names.forget_failures)
    leases = Leases(marks, clock=clock, name=name)
    proxies = _rotation(settings, engine.tunnels, clock=clock) if settings.proxies_enabled else None
    return Asker(
        requests,
        leases=leases,
        names=names,
        budget=budget,
        uplink=uplink,
        jars=Jars(jars or MemoryJars(), clock=clock),
        proxies=proxies,
    )


def _rotation(settings: FetcherSettings, tunnels: Tunnels, *, clock: Clock) -> Rotation:
    windows = RateWindows(max_requests=settings.proxy_requests_per_second)
    rotation = Rotation(clock=clock, windows=windows, knock=tunnels.knock)
    rotation.set((proxy_of(url.get_secret_value()), Standing()) for url in settings.proxy_urls)
    return rotation


def rules_of(settings: FetcherSettings) -> RedirectRules:
    """Say what redirects may do."""
    max_hops = settings.max_redirects if settings.follow_redirects else 0
    return RedirectRules(places_of(settings), max_hops=max_hops)


def places_of(settings: FetcherSettings) -> Places:
    """Say which addresses and ports are open."""
    return Places(
        allow_private=settings.crawl.allow_private,
        networks=settings.allow_networks,
        ports=frozenset(settings.ports),
    )


def _name_options(settings: FetcherSettings) -> NameOptions:
    return NameOptions(
        keep_seconds=settings.dns_ttl_seconds,
        keep_failures_seconds=settings.dns_negative_ttl_seconds,
        timeout_seconds=settings.dns_timeout_seconds,
        threads=settings.dns_threads,
    )


def _engine_options(settings: FetcherSettings) -> EngineOptions:
    return EngineOptions(
        connect_timeout_seconds=settings.connect_timeout_seconds,
        keep_seconds=settings.keep_alive_seconds,
        max_idle=settings.max_idle_connections,
        ca_file=settings.ca_file,
        must_tunnel=settings.proxy_must_tunnel,
        receive_bytes=receive_bytes(settings.in_flight_mb * MIB, connections=settings.concurrency),
    )


def _request_options(settings: FetcherSettings) -> RequestOptions:
    return RequestOptions(
        max_deadline_seconds=settings.max_deadline_seconds,
        slow_grace_seconds=settings.slow_grace_seconds,
        min_bytes_per_second=settings.min_bytes_per_second,
    )
