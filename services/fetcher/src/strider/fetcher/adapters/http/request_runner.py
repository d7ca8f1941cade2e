"""Runs a request from its lease mark to its end: limits, robots.txt redirects, body size.

Each request costs at most one deadline and one place, whatever its server does. The limits around the
connector are the deadline, the minimum speed and maximum size of a body (`core.body_limits`), and shutdown.
Redirects of a robots.txt within its host group are followed here, as one request; all others are outcomes, as
the lease allows no request to another group. What a response means is decided by `core.outcome`.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import ErrorClass, RequestKind
from strider.contracts.generated.events import FetchRequested
from strider.fetcher.adapters.state.body_budget import BodyBudget
from strider.fetcher.adapters.state.lease_marker import StartedLease
from strider.fetcher.core import (
    BodyPolicy,
    CrawlerIdentity,
    FailedFetch,
    FetchedResponse,
    FetchResult,
    FinishedRequest,
    Proxy,
    RedirectRules,
    RequestTrace,
    ResponseHead,
    build_request_headers,
    decide_body_policy,
    decode_head,
    is_redirect,
    looks_like_markup,
    resolve_robots_redirect,
    select_user_agent,
    unsupported_type,
    url_refusal,
)
from strider.messaging.ports import Clock
from strider.runtime.shares import SharePath

from .connector import HttpConnector
from .deadlines import ActiveRequest, RequestLimits
from .error_mapping import FetchFailure, map_exception
from .exchange import ResponseBody

STATUS_PROXY_AUTH_REQUIRED: Final = 407
STATUS_REQUEST_TIMEOUT: Final = 408
"""Sent by servers that close a kept connection as idle; it can cross a request on its way."""
PROXY_AUTH_REQUIRED: Final = FailedFetch(ErrorClass.PROXY_AUTH, "the proxy requires authentication")


class RequestRunner:
    """Runs requests, any number at a time."""

    def __init__(
        self,
        connector: HttpConnector,
        *,
        identity: CrawlerIdentity,
        redirect_rules: RedirectRules,
        budget: BodyBudget,
        clock: Clock,
        worker_id: str,
        limits: RequestLimits | None = None,
    ) -> None:
        self._connector = connector
        self._identity = identity
        self._redirect_rules = redirect_rules
        self._budget = budget
        self._clock = clock
        self._worker_id = worker_id
        self._limits = limits or RequestLimits()
        self._active: set[ActiveRequest] = set()
        self._shutdown_at: float | None = None
        """When all requests have to be over, in monotonic seconds; None while the process is not stopping."""

    async def run(
        self,
        request: FetchRequested,
        lease: StartedLease,
        *,
        proxy: Proxy | None = None,
        refusal: FetchFailure | None = None,
        share: SharePath = (),
    ) -> FinishedRequest:
        """Run a request whose lease was marked; always returns a result, unless it is cancelled.

        With a `refusal` nothing is sent, and it is the result. `share` is that of its sender, for the memory
        of its body.
        """
        seconds = min(request.deadline_ms / 1000, self._limits.max_deadline_seconds)
        deadline = lease.requested_at + seconds
        hold = self._budget.open_hold(share)
        active = ActiveRequest(request, hold, self._clock, self._limits, deadline, proxy)
        active.start_timeline(since=lease.requested_at)
        if self._shutdown_at is not None:
            active.end_by(self._shutdown_at)
        self._active.add(active)
        try:
            result = await self._run_within_limits(active, refusal)
        finally:
            hold.end_as_slow = None
            self._active.discard(active)
        is_cancelled = isinstance(result, FailedFetch) and result.error_class == ErrorClass.CANCELLED
        is_before_connect = not active.head_sent_at and (is_cancelled or not active.has_connected)
        trace = self._trace_of(active, lease, is_before_connect=is_before_connect)
        return FinishedRequest(result, trace, active.held_body, self._clock.monotonic())

    def finish_within(self, seconds: float) -> None:
        """End every request within a time; one that is not over by then ends as interrupted."""
        self._shutdown_at = ends_at = self._clock.monotonic() + seconds
        for active in self._active:
            active.end_by(ends_at)

    async def close(self) -> None:
        """Close the connections."""
        await self._connector.close()

    async def _run_within_limits(self, active: ActiveRequest, refusal: FetchFailure | None) -> FetchResult:
        try:
            if refusal is not None:
                raise refusal
            async with active.timeout_scope():
                return await self._follow_robots_redirects(active)
        except FetchFailure as error:
            failure = error
        except TimeoutError as error:
            if active.is_draining and active.head is not None:
                return FetchedResponse(active.head, body_bytes=active.body_bytes, is_truncated=True)
            failure = active.timeout_failure() if active.has_expired else map_exception(error)
        finally:
            active.end_timeline()
        active.held_body.release()
        return FailedFetch(
            failure.error_class, failure.message, active.head, active.body_bytes, active.redirect_chain
        )

    async def _follow_robots_redirects(self, active: ActiveRequest) -> FetchResult:
        """Send the request; for a robots.txt also follow its redirects within the host group.

        Each is refused or allowed again.
        """
        request, url = active.request, active.request.url
        while True:
            chain = active.redirect_chain
            refusal = url_refusal(url, policy=self._redirect_rules.address_policy)
            if refusal is not None:
                return replace_fields(refusal, redirect_chain=chain)
            if chain:
                active.end_timeline()
                active.start_timeline(since=self._clock.monotonic())
            result = await self._send(active, url)
            if isinstance(result, FailedFetch):
                return replace_fields(result, redirect_chain=chain)
            if request.kind != RequestKind.ROBOTS:
                return result
            if not is_redirect(result.head):
                return replace_fields(result, final_url=url, redirect_chain=chain)
            rules = self._redirect_rules
            redirect = resolve_robots_redirect(
                result.head, url=url, redirect_chain=chain, requested_url=request.url, rules=rules
            )
            if redirect.refusal or not rules.is_same_group(redirect.target, request.url):
                return replace_fields(result, final_url=url, redirect_chain=chain)
            active.redirect_chain, url = (*chain, url), redirect.target

    async def _send(self, active: ActiveRequest, url: str) -> FetchResult:
        request = active.request
        is_cross_origin = url != request.url and _origin_of(url) != _origin_of(request.url)
        response = await self._connector.send(
            url,
            build_request_headers(request, self._identity, is_cross_origin=is_cross_origin),
            timeline=active.timeline,
            is_insecure=request.insecure_tls and not is_cross_origin,
        )
        active.head = decode_head(response.status, response.raw_headers, http_version=response.http_version)
        policy = _connection_refusal(active, active.head) or decide_body_policy(request, active.head)
        if isinstance(policy, FailedFetch):
            response.body.close(is_whole=False)
            return policy
        return await self._read_body(active, response.body, head=active.head, policy=policy)

    async def _read_body(
        self, active: ActiveRequest, body: ResponseBody, *, head: ResponseHead, policy: BodyPolicy
    ) -> FetchResult:
        """Read a body up to its size limit, holding each chunk's bytes in the body budget."""
        chunks: list[bytes] = []
        is_whole = False
        active.start_body(keeps_body=policy.keeps_body, is_complete=body.is_complete)
        try:
            if policy.keeps_body:
                await active.hold_bytes()
            async for chunk in body:
                active.body_bytes += len(chunk)
                if policy.must_look_like_markup and not chunks and not looks_like_markup(chunk):
                    return unsupported_type(head)
                if active.body_bytes > policy.max_bytes:
                    return _over_size_limit(active, chunks, last_chunk=chunk, head=head, policy=policy)
                if policy.keeps_body:
                    chunks.append(chunk)
                    await active.hold_bytes(len(chunk), is_complete=body.is_complete)
                if not body.is_complete:
                    active.set_speed_timer()
            is_whole = True
        except FetchFailure:
            if policy.keeps_body:
                raise
        finally:
            body.close(is_whole=is_whole)
        content = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        return FetchedResponse(head, content, active.body_bytes, is_truncated=not is_whole)

    def _trace_of(
        self, active: ActiveRequest, lease: StartedLease, *, is_before_connect: bool
    ) -> RequestTrace:
        now, timeline = self._clock.monotonic(), active.timeline
        return RequestTrace(
            marked_at_us=lease.now_us,
            completed_at_us=lease.at_us(now),
            started_at_us=lease.at_us(active.head_sent_at) if active.head_sent_at else 0,
            worker_id=self._worker_id,
            user_agent=select_user_agent(active.request, self._identity),
            is_before_connect=is_before_connect,
            remote_address=timeline.remote_address,
            proxy="" if active.proxy is None else active.proxy.display_url,
            is_connection_reused=timeline.is_connection_reused,
            is_tls_verified=not active.request.insecure_tls,
            dns_us=timeline.dns_us(),
            connect_us=timeline.connect_us(),
            tls_us=timeline.tls_us(),
            ttfb_us=timeline.ttfb_us(),
            total_us=round((now - (active.head_sent_at or lease.requested_at)) * 1_000_000),
        )


def _connection_refusal(active: ActiveRequest, head: ResponseHead) -> FailedFetch | None:
    """Return a failure if the head is not the site's response to this request, else None."""
    if active.proxy is not None and head.status == STATUS_PROXY_AUTH_REQUIRED:
        return PROXY_AUTH_REQUIRED
    if head.status == STATUS_REQUEST_TIMEOUT and active.timeline.is_connection_reused:
        message = "the kept connection was closed as idle (408) while the request was sent"
        return FailedFetch(ErrorClass.CONNECTION_CLOSED, message, head)
    return None


def _over_size_limit(
    active: ActiveRequest, chunks: list[bytes], *, last_chunk: bytes, head: ResponseHead, policy: BodyPolicy
) -> FetchResult:
    if not policy.may_truncate:
        message = f"the body has more than {policy.max_bytes} bytes"
        return FailedFetch(ErrorClass.BODY_TOO_LARGE, message, head, active.body_bytes)
    content = (b"".join(chunks) + last_chunk)[: policy.max_bytes] if policy.keeps_body else b""
    return FetchedResponse(head, content, active.body_bytes, is_truncated=True)


def _origin_of(url: str) -> str:
    return url[: url.index("/", 8)]
