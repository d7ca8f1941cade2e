"""One fetch at a time, as the fetcher would make it, without a broker and without leases.

The engine, the limits and the meaning of an answer are the fetcher's own; what stands here in place of
the scheduler follows redirects, each as a request of its own, and keeps the delay of a host between
two of them. Says nothing to anybody: how it is shown is `fetch_lines`' and `robots_report`'s.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from strider.contracts.generated.enums import DecisionReason, ErrorClass, FetchOutcome, RequestKind
from strider.contracts.generated.events import FetchCompleted, FetchRequested
from strider.fetcher.adapters import open_fetch_client, rules_of
from strider.fetcher.adapters.proxies import pool as rotation
from strider.fetcher.adapters.state import connectivity as uplink
from strider.fetcher.core import (
    FailedFetch,
    FetchedResponse,
    Proxy,
    RedirectRules,
    RequestTrace,
    ResponseHead,
    Standing,
    interpret_result,
)
from strider.fetcher.settings import FetcherSettings
from strider.frontier.models import StartMark, StartResult
from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.ports import Clock
from strider.politeness import is_sensitive_header
from strider.runtime.observability.logging import configure_logs
from strider.runtime.settings.loader import SettingsError, load_settings
from strider.urls import (
    CLOUD_METADATA,
    PRIVATE,
    RefusedUrl,
    host_kind,
    host_of,
    origin_of,
    to_wire_url,
    url_hash,
    url_key_of,
)

from .embedded.showing import is_loopback
from .manners import NO_PROXY, BadManners, with_manners
from .typed import whole_url

NO_HEAD: Final = ResponseHead(0, http_version="")


class BadAsking(ValueError):
    """Wrong usage, in one sentence."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person wants of a request besides its URL."""

    kind: str = RequestKind.PAGE
    deadline_seconds: float = 30.0
    max_body_bytes: int = 10 * 1024 * 1024
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: str = ""
    last_modified: str = ""
    is_insecure: bool = False
    follows: bool = True


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request that is over."""

    told: FetchCompleted
    head: ResponseHead
    body: bytes


class SingleFetches:
    """Makes requests, one after the other."""

    def __init__(self, settings: FetcherSettings, *, clock: Clock, proxy: Proxy | None = None) -> None:
        """By way of `proxy` where it is named; else of the settings' proxies, where they are enabled."""
        self._settings = settings
        self._rules = rules_of(settings)
        self._clock = clock
        try:
            self._asker = open_fetch_client(
                settings, _EveryLease(clock), clock=clock, process_name="strider-fetch"
            )
        except StartRefused as refused:
            raise BadAsking(str(refused)) from refused
        proxies = self._asker.proxies
        if proxies is not None and proxy is not None:
            proxies.replace_all([(proxy, Standing())])
        if proxies is not None and not proxies.proxies:
            raise BadAsking(NO_PROXY)
        self._number = 0
        self._ended_at: dict[str, float] = {}
        """By host: when its latest answer was over."""

    async def fetch(self, url: str, wanted: Wanted) -> tuple[Attempt, ...]:
        """Fetch a URL as found, and what it redirects to; one attempt for each request."""
        attempts: list[Attempt] = []
        chain: tuple[str, ...] = ()
        while True:
            attempt = await self._ask(url, wanted, chain=chain)
            attempts.append(attempt)
            told = attempt.told
            if told.outcome != FetchOutcome.REDIRECTED or told.redirect_refused or not wanted.follows:
                return tuple(attempts)
            if origin_of(told.redirect_target) != origin_of(url):
                wanted = replace(wanted, is_insecure=False, headers=_impersonal(wanted.headers))
            chain, url = (*chain, url), told.redirect_target
            wanted = replace(wanted, etag="", last_modified="")

    async def greet(self, proxy: Proxy) -> None:
        """Shake hands with a proxy; raises Failure."""
        assert self._asker.proxies is not None, "proxies are enabled"
        await self._asker.proxies.check_proxy(proxy)

    async def close(self) -> None:
        """Close the connections."""
        await self._asker.close()

    async def _ask(self, url: str, wanted: Wanted, *, chain: tuple[str, ...]) -> Attempt:
        await self._wait_for(host_of(url))
        self._number += 1
        request = _request(url, wanted, chain=chain, number=self._number)
        try:
            done = await self._asker.fetch(request)
        except Unavailable as failure:
            return _unasked(request, failure, clock=self._clock)
        assert done is not None, "every lease is ours"
        self._ended_at[host_of(url)] = self._clock.monotonic()
        done.holding.release()
        came: FetchedResponse | FailedFetch = done.result
        meaning = interpret_result(request, came, made=done.trace, rules=self._rules)
        body = came.body if isinstance(came, FetchedResponse) else b""
        return Attempt(meaning.completed, came.head or NO_HEAD, body)

    async def _wait_for(self, name: str) -> None:
        ended_at = self._ended_at.get(name)
        if ended_at is not None:
            since = self._clock.monotonic() - ended_at
            await self._clock.sleep(max(0.0, self._settings.crawl.host_delay_seconds - since))


class _EveryLease:
    """Marks: there is nobody else who could have taken a lease."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def mark_started(
        self, leases: Sequence[tuple[int, str]], *, nonce: str, deadline_ms: int
    ) -> Sequence[StartMark]:
        """Mark them all."""
        del nonce, deadline_ms
        now_us = round(self._clock.now().timestamp() * 1_000_000)
        return [StartMark(StartResult.STARTED, now_us) for _ in leases]


def quiet_logs() -> None:
    """Have logs go where answers do not: what they say stands in the answers as well."""
    configure_logs("strider", stream=sys.stderr, level="error", console=True)


def settings_of(chosen: Mapping[str, object]) -> FetcherSettings:
    """Take what the environment says, and what was said on the command line instead; raises BadAsking."""
    try:
        settings = load_settings(FetcherSettings, os.environ).settings
        crawl = with_manners(settings.crawl, chosen)
    except (SettingsError, BadManners) as failure:
        raise BadAsking(str(failure)) from failure
    return settings.model_copy(update={"crawl": crawl})


def read_url(text: str, settings: FetcherSettings) -> str | RefusedUrl:
    """Read a URL from the command line, a bare name as https; raises BadAsking where nobody may ask it so."""
    try:
        found = to_wire_url(whole_url(text))
    except ValueError as wrong:
        raise BadAsking(str(wrong)) from wrong
    if isinstance(found, RefusedUrl) or settings.crawl.contact or is_loopback(host_of(found)):
        return found
    if host_kind(host_of(found)) in {PRIVATE, CLOUD_METADATA}:
        return found  # whether that may be asked is for the fetcher to say
    raise BadAsking(
        "say --contact with a URL or mail address (or set STRIDER_CONTACT), so that sites know whom to "
        "write to; without it only loopback is asked"
    )


def refusal(text: str, refused: RefusedUrl, wanted: Wanted, *, clock: Clock) -> Attempt:
    """Say of a text that nothing can be asked by it, as the fetcher says it of such a URL."""
    is_scheme = refused.reason == DecisionReason.REFUSED_SCHEME
    failed = FailedFetch(ErrorClass.REFUSED_SCHEME if is_scheme else ErrorClass.BAD_URL, _words(refused))
    request = replace(_request("http://localhost/", wanted, chain=(), number=0), url=text[:2048], origin="")
    return _not_made(request, failed, clock=clock)


def _unasked(request: FetchRequested, failure: Unavailable, *, clock: Clock) -> Attempt:
    """Say of a request why it could not be made now; the service would wait, as long as it takes."""
    error = _LACKS.get(failure.dependency, ErrorClass.INTERNAL)
    return _not_made(request, FailedFetch(error, failure.detail), clock=clock)


def _not_made(request: FetchRequested, failed: FailedFetch, *, clock: Clock) -> Attempt:
    now_us = round(clock.now().timestamp() * 1_000_000)
    made = RequestTrace(now_us, now_us, is_before_connect=True)
    return Attempt(
        interpret_result(request, failed, made=made, rules=RedirectRules()).completed, NO_HEAD, b""
    )


_LACKS: Final = {
    uplink.READINESS_PART: ErrorClass.OFFLINE,
    rotation.READINESS_PART: ErrorClass.PROXY_UNREACHABLE,
}
"""By the part that is unavailable."""


def _words(refused: RefusedUrl) -> str:
    if refused.reason == DecisionReason.REFUSED_SCHEME:
        return "only http and https are asked"
    if refused.reason == DecisionReason.BAD_URL:
        return f"that is no URL: {_WHY_NONE.get(refused.detail, 'look at its host and port')}"
    return refused.reason.replace("_", " ") + (f" ({refused.detail})" if refused.detail else "")


_WHY_NONE: Final = {"bad_host": "its host cannot be a name"}


def _request(url: str, wanted: Wanted, *, chain: tuple[str, ...], number: int) -> FetchRequested:
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
        lease_expires_at_ms=0,
        kind=wanted.kind,
        hop=len(chain),
        redirect_chain=chain,
        deadline_ms=round(wanted.deadline_seconds * 1000),
        max_body_bytes=wanted.max_body_bytes,
        etag=wanted.etag,
        last_modified=wanted.last_modified,
        header_names=tuple(wanted.headers),
        header_values=tuple(wanted.headers.values()),
        insecure_tls=wanted.is_insecure,
    )


def _impersonal(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Leave out what is meant for one origin alone."""
    return {name: value for name, value in headers.items() if not is_sensitive_header(name)}
