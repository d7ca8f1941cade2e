"""One fetch at a time, as the fetcher service makes it, without a broker and without leases.

Connector, limits and interpretation of responses are the fetcher's own; in place of the scheduler this
follows redirects, each as a request of its own, and keeps the crawl delay of a host between two of them.
Prints nothing: `report` and `robots_report` do.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from strider.cli.typed_urls import BadTypedUrl, TypedUrl, is_loopback, read_url
from strider.contracts.generated.enums import ErrorClass, FetchOutcome, RequestKind
from strider.contracts.generated.events import FetchCompleted, FetchRequested
from strider.fetcher.adapters import open_fetch_client, redirect_rules_of
from strider.fetcher.adapters.proxies import pool as rotation
from strider.fetcher.adapters.state import connectivity as uplink
from strider.fetcher.adapters.state import open_files
from strider.fetcher.core import (
    FailedFetch,
    FetchedResponse,
    Proxy,
    ProxyHealth,
    RedirectRules,
    RequestTrace,
    ResponseHead,
    interpret_result,
)
from strider.fetcher.settings import FetcherSettings
from strider.frontier.models import StartMark, StartResult
from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.ports import Clock
from strider.politeness import is_sensitive_header
from strider.runtime.settings.loader import SettingsError, load_settings
from strider.urls import (
    CLOUD_METADATA,
    PRIVATE,
    host_kind,
    host_of,
    origin_of,
    url_hash,
    url_key_of,
)

from .settings import NO_CONTACT, NO_PROXY_NAMED, FetchSettingsError, apply_overrides

EMPTY_HEAD: Final = ResponseHead(0, http_version="")
NEVER_MS: Final = 1 << 62
"""When leases of this command run out: nothing else wants its URLs."""


class FetchUsageError(ValueError):
    """Wrong usage; the message is one line."""


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """Options of a request besides its URL."""

    kind: str = RequestKind.PAGE
    deadline_seconds: float = 30.0
    max_body_bytes: int = 10 * 1024 * 1024
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: str = ""
    last_modified: str = ""
    is_insecure: bool = False
    follows_redirects: bool = True


@dataclass(frozen=True, slots=True)
class FetchAttempt:
    """One completed request."""

    completed: FetchCompleted
    head: ResponseHead
    body: bytes


class SingleFetcher:
    """Makes requests, one after the other."""

    def __init__(self, settings: FetcherSettings, *, clock: Clock, proxy: Proxy | None = None) -> None:
        """Use `proxy` where it is given, else the proxies of the settings, where they are enabled."""
        self._settings = settings
        self._rules = redirect_rules_of(settings)
        self._clock = clock
        try:
            self._client = open_fetch_client(
                settings, _AlwaysLeased(clock), clock=clock, process_name="strider-fetch"
            )
        except StartRefused as refused:
            raise FetchUsageError(str(refused)) from refused
        proxies = self._client.proxies
        if proxies is not None and proxy is not None:
            proxies.replace_all([(proxy, ProxyHealth())])
        if proxies is not None and not proxies.proxies:
            raise FetchUsageError(NO_PROXY_NAMED)
        self._number = 0
        self._ended_at: dict[str, float] = {}
        """Host → monotonic time at which its latest response ended."""

    async def fetch(self, url: str, options: FetchOptions) -> tuple[FetchAttempt, ...]:
        """Fetch a URL, and the targets of its redirects; one attempt per request."""
        attempts: list[FetchAttempt] = []
        chain: tuple[str, ...] = ()
        while True:
            attempt = await self._fetch_once(url, options, chain=chain)
            attempts.append(attempt)
            completed = attempt.completed
            if (
                completed.outcome != FetchOutcome.REDIRECTED
                or completed.redirect_refused
                or not options.follows_redirects
            ):
                return tuple(attempts)
            if origin_of(completed.redirect_target) != origin_of(url):
                options = replace(options, is_insecure=False, headers=_without_personal(options.headers))
            chain, url = (*chain, url), completed.redirect_target
            options = replace(options, etag="", last_modified="")

    async def check_proxy(self, proxy: Proxy) -> None:
        """Connect to a proxy and log in; raises Failure."""
        assert self._client.proxies is not None, "proxies are enabled"
        await self._client.proxies.check_proxy(proxy)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _fetch_once(self, url: str, options: FetchOptions, *, chain: tuple[str, ...]) -> FetchAttempt:
        await self._keep_delay(host_of(url))
        self._number += 1
        request = _fetch_request(url, options, chain=chain, number=self._number)
        try:
            done = await self._client.fetch(request)
        except Unavailable as failure:
            return _unavailable_attempt(request, failure, clock=self._clock)
        assert done is not None, "every lease is marked"
        self._ended_at[host_of(url)] = self._clock.monotonic()
        done.held_body.release()
        came: FetchedResponse | FailedFetch = done.result
        meaning = interpret_result(request, came, trace=done.trace, rules=self._rules)
        body = came.body if isinstance(came, FetchedResponse) else b""
        return FetchAttempt(meaning.completed, came.head or EMPTY_HEAD, body)

    async def _keep_delay(self, name: str) -> None:
        ended_at = self._ended_at.get(name)
        if ended_at is not None:
            since = self._clock.monotonic() - ended_at
            await self._clock.sleep(max(0.0, self._settings.crawl.host_delay_seconds - since))


class _AlwaysLeased:
    """Lease marker without a store: no other process can have taken a lease."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def mark_started(
        self, leases: Sequence[tuple[int, str]], *, nonce: str, deadline_ms: int
    ) -> Sequence[StartMark]:
        """Mark all leases as started."""
        del nonce, deadline_ms
        now_us = round(self._clock.now().timestamp() * 1_000_000)
        return [StartMark(StartResult.STARTED, now_us) for _ in leases]


def load_fetcher_settings(overrides: Mapping[str, object]) -> FetcherSettings:
    """Load the fetcher's settings, with the values of options; raises FetchUsageError."""
    try:
        settings = load_settings(FetcherSettings, os.environ).settings
        crawl = apply_overrides(settings.crawl, overrides)
    except (SettingsError, FetchSettingsError) as failure:
        raise FetchUsageError(str(failure)) from failure
    return settings.model_copy(update={"crawl": crawl})


def parse_url_argument(text: str, settings: FetcherSettings) -> TypedUrl:
    """Parse a URL argument; raises FetchUsageError, also for another host than loopback without a contact."""
    try:
        found = read_url(text)
    except BadTypedUrl as wrong:
        raise FetchUsageError(str(wrong)) from wrong
    name = host_of(found.wire)
    if settings.crawl.contact or is_loopback(name):
        return found
    if host_kind(name) in {PRIVATE, CLOUD_METADATA}:
        return found  # the fetcher decides whether it may be fetched
    raise FetchUsageError(NO_CONTACT)


_ERROR_BY_PART: Final = {
    uplink.READINESS_PART: ErrorClass.OFFLINE,
    open_files.READINESS_PART: ErrorClass.OFFLINE,
    rotation.READINESS_PART: ErrorClass.PROXY_UNREACHABLE,
}
"""Part that is unavailable → error class."""


def _unavailable_attempt(request: FetchRequested, failure: Unavailable, *, clock: Clock) -> FetchAttempt:
    """Return the attempt for a request that cannot be made now; the service would wait and retry."""
    error = _ERROR_BY_PART.get(failure.dependency, ErrorClass.INTERNAL)
    return _failed_attempt(request, FailedFetch(error, failure.detail), clock=clock)


def _failed_attempt(request: FetchRequested, failed: FailedFetch, *, clock: Clock) -> FetchAttempt:
    now_us = round(clock.now().timestamp() * 1_000_000)
    made = RequestTrace(now_us, now_us, is_before_connect=True)
    return FetchAttempt(
        interpret_result(request, failed, trace=made, rules=RedirectRules()).completed, EMPTY_HEAD, b""
    )


def _fetch_request(url: str, options: FetchOptions, *, chain: tuple[str, ...], number: int) -> FetchRequested:
    return FetchRequested(
        url=url,
        url_key=url_hash(url_key_of(url)),
        origin=origin_of(url),
        group=host_of(url),
        job_id="strider-fetch",
        execution_id="strider-fetch",
        crawl_spec_id="",
        fetch_sequence=number,
        lease_id=f"strider-fetch-{number}",
        try_number=1,
        issued_at_ms=0,
        lease_expires_at_ms=NEVER_MS,
        kind=options.kind,
        hop=len(chain),
        redirect_chain=chain,
        deadline_ms=round(options.deadline_seconds * 1000),
        max_body_bytes=options.max_body_bytes,
        etag=options.etag,
        last_modified=options.last_modified,
        header_names=tuple(options.headers),
        header_values=tuple(options.headers.values()),
        insecure_tls=options.is_insecure,
    )


def _without_personal(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers without those that are meant for one origin."""
    return {name: value for name, value in headers.items() if not is_sensitive_header(name)}
