"""One request from its mark to its end, whatever the server does: it costs one deadline of one place.

Puts the limits around the transport: the whole deadline, the least speed, the most bytes, the end of
the process. Follows the redirects of a robots.txt, which are one request; those of pages are outcomes. What
an answer means is the core's to say.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass, replace_fields
from strider.contracts.generated.enums import ErrorClass, RequestKind
from strider.contracts.generated.events import FetchRequested
from strider.fetcher.adapters.state.body_budget import BodyBudget, Holding
from strider.fetcher.adapters.state.lease_marker import StartedLease
from strider.fetcher.core import (
    CrawlerIdentity,
    FailedFetch,
    FetchedResponse,
    Proxy,
    Reading,
    RedirectRules,
    RequestTrace,
    ResponseHead,
    decide_body_policy,
    head_of,
    headers_of,
    is_redirect,
    looks_like_markup,
    resolve_redirect,
    unsupported_type,
    url_refusal,
    user_agent_of,
)
from strider.messaging.ports import Clock
from strider.urls import host_of

from .cross_host_robots import CrossHostRobotsCache
from .deadlines import Course, RequestLimits
from .error_mapping import FetchFailure, failure_of
from .transport import EngineTransport, ResponseBody

STATUS_PROXY_AUTH_REQUIRED: Final = 407
STATUS_REQUEST_TIMEOUT: Final = 408
"""What servers say when they close a connection that was kept: it has met our request on its way."""
PROXY_AUTH_REQUIRED: Final = FailedFetch(ErrorClass.PROXY_AUTH, "the proxy wants an account")


@fast_dataclass(frozen=True, slots=True)
class Fetched:
    """A request that is over."""

    result: FetchedResponse | FailedFetch
    trace: RequestTrace
    holding: Holding
    """The body's bytes; to be released when they are spoken."""
    ended_at: float
    """Monotonic."""


class RequestRunner:
    """Makes requests, as many at a time as it is asked to."""

    def __init__(
        self,
        transport: EngineTransport,
        *,
        identity: CrawlerIdentity,
        redirect_rules: RedirectRules,
        budget: BodyBudget,
        clock: Clock,
        worker_id: str,
        limits: RequestLimits | None = None,
    ) -> None:
        self._transport = transport
        self._identity = identity
        self._rules = redirect_rules
        self._budget = budget
        self._clock = clock
        self._worker_id = worker_id
        self._options = limits or RequestLimits()
        self._cross_host_robots = CrossHostRobotsCache(clock)
        self._active: set[Course] = set()
        self._shutdown_at: float | None = None
        """When the process has to have everything behind it; None while nobody wants it to end."""

    async def run(self, request: FetchRequested, lease: StartedLease, *, via: Proxy | None = None) -> Fetched:
        """Make a request that was marked. Whatever happens, this answers (unless it is cancelled)."""
        seconds = min(request.deadline_ms / 1000, self._options.max_deadline_seconds)
        deadline = lease.asked_at + seconds
        course = Course(request, self._budget.open_hold(), self._clock, self._options, deadline, via)
        course.start_timeline(since=lease.asked_at)
        if self._shutdown_at is not None:
            course.end_by(self._shutdown_at)
        self._active.add(course)
        try:
            came = await self._run_within_limits(course)
        finally:
            self._active.discard(course)
        is_cancelled = isinstance(came, FailedFetch) and came.error_class == ErrorClass.CANCELLED
        is_before = not course.head_sent_at and (is_cancelled or not course.has_connected)
        made = self._trace_of(course, lease, is_before_connect=is_before)
        return Fetched(came, made, course.holding, self._clock.monotonic())

    def finish_within(self, seconds: float) -> None:
        """End everything within a time: what is not over then ends as interrupted."""
        self._shutdown_at = ends_at = self._clock.monotonic() + seconds
        for course in self._active:
            course.end_by(ends_at)

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def _run_within_limits(self, course: Course) -> FetchedResponse | FailedFetch:
        try:
            async with course.timeout_scope():
                return await self._follow(course)
        except FetchFailure as failure:
            found = failure
        except TimeoutError as error:
            if course.is_draining and course.head is not None:
                return FetchedResponse(course.head, body_bytes=course.body_bytes, is_cut=True)
            found = course.overdue() if course.has_expired else failure_of(error)
        finally:
            course.end_timeline()
        course.holding.release()
        return FailedFetch(
            found.error_class, found.message, course.head, course.body_bytes, course.redirect_chain
        )

    async def _follow(self, course: Course) -> FetchedResponse | FailedFetch:
        """Ask; of a robots.txt also those that it points to."""
        request, url = course.request, course.request.url
        while True:
            redirect_chain = course.redirect_chain
            refused = url_refusal(url, policy=self._rules.address_policy)
            if refused is not None:
                return replace_fields(refused, redirect_chain=redirect_chain)
            answer = await self._send_paced(course, url)
            if isinstance(answer, FailedFetch):
                return replace_fields(answer, redirect_chain=redirect_chain)
            if request.kind != RequestKind.ROBOTS:
                return answer
            if not is_redirect(answer.head):
                return replace_fields(answer, url=url, redirect_chain=redirect_chain)
            redirect = resolve_redirect(
                answer.head,
                url=url,
                redirect_chain=redirect_chain,
                hop=len(redirect_chain),
                rules=self._rules,
            )
            if redirect.refusal:
                return replace_fields(answer, url=url, redirect_chain=redirect_chain)
            course.redirect_chain, url = (*redirect_chain, url), redirect.target

    async def _send_paced(self, course: Course, url: str) -> FetchedResponse | FailedFetch:
        """Ask where we were sent to; where that is another host, only as often as it bears."""
        if url == course.request.url:
            return await self._ask(course, url)
        if host_of(url) == host_of(course.request.url):
            return await self._send_redirected(course, url)
        return await self._cross_host_robots.fetch(url, lambda: self._send_redirected(course, url))

    async def _send_redirected(self, course: Course, url: str) -> FetchedResponse | FailedFetch:
        course.end_timeline()
        course.start_timeline(since=self._clock.monotonic())
        return await self._ask(course, url)

    async def _ask(self, course: Course, url: str) -> FetchedResponse | FailedFetch:
        request = course.request
        is_foreign = url != request.url and _origin(url) != _origin(request.url)
        answered = await self._transport.ask(
            url,
            headers_of(request, self._identity, is_foreign=is_foreign),
            exchange=course.exchange,
            is_insecure=request.insecure_tls and not is_foreign,
        )
        body = answered.body
        course.head = head_of(answered.status, answered.raw_headers, http_version=answered.http_version)
        reading = _connection_refusal(course, course.head) or decide_body_policy(request, course.head)
        if isinstance(reading, FailedFetch):
            body.close(is_whole=False)
            return reading
        return await self._read(course, body, head=course.head, policy=reading)

    async def _read(
        self, course: Course, body: ResponseBody, *, head: ResponseHead, policy: Reading
    ) -> FetchedResponse | FailedFetch:
        chunks: list[bytes] = []
        is_whole = False
        course.start_body(keeps_body=policy.keeps_body, is_complete=body.is_complete)
        try:
            if policy.keeps_body:
                await course.hold_bytes()
            async for chunk in body:
                course.body_bytes += len(chunk)
                if policy.is_suspect and not chunks and not looks_like_markup(chunk):
                    return unsupported_type(head)
                if course.body_bytes > policy.max_bytes:
                    return _over_size_limit(course, chunks, last=chunk, head=head, reading=policy)
                if policy.keeps_body:
                    chunks.append(chunk)
                    await course.hold_bytes(len(chunk), is_complete=body.is_complete)
                if not body.is_complete:
                    course.set_speed_timer()
            is_whole = True
        except FetchFailure:
            if policy.keeps_body:
                raise
        finally:
            body.close(is_whole=is_whole)
        content = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        return FetchedResponse(head, content, course.body_bytes, is_cut=not is_whole)

    def _trace_of(self, course: Course, lease: StartedLease, *, is_before_connect: bool) -> RequestTrace:
        now, exchange = self._clock.monotonic(), course.exchange
        return RequestTrace(
            marked_at_us=lease.now_us,
            completed_at_us=lease.at_us(now),
            started_at_us=lease.at_us(course.head_sent_at) if course.head_sent_at else 0,
            worker_id=self._worker_id,
            user_agent=user_agent_of(course.request, self._identity),
            is_before_connect=is_before_connect,
            remote_address=exchange.remote_address,
            proxy="" if course.via is None else course.via.display_url,
            is_connection_reused=exchange.is_connection_reused,
            is_tls_verified=not course.request.insecure_tls,
            dns_us=exchange.dns_us(),
            connect_us=exchange.connect_us(),
            tls_us=exchange.tls_us(),
            ttfb_us=exchange.ttfb_us(),
            total_us=round((now - (course.head_sent_at or lease.asked_at)) * 1_000_000),
        )


def _connection_refusal(course: Course, head: ResponseHead) -> FailedFetch | None:
    """Say of a head that it answers something else than what was asked."""
    if course.via is not None and head.status == STATUS_PROXY_AUTH_REQUIRED:
        return PROXY_AUTH_REQUIRED
    is_tired = head.status == STATUS_REQUEST_TIMEOUT and course.exchange.is_connection_reused
    return (
        FailedFetch(ErrorClass.CONNECTION_CLOSED, "closed as idle (408) when it was asked", head)
        if is_tired
        else None
    )


def _over_size_limit(
    course: Course, chunks: list[bytes], *, last: bytes, head: ResponseHead, reading: Reading
) -> FetchedResponse | FailedFetch:
    if not reading.may_truncate:
        message = f"more than {reading.max_bytes} bytes"
        return FailedFetch(ErrorClass.BODY_TOO_LARGE, message, head, course.body_bytes)
    content = (b"".join(chunks) + last)[: reading.max_bytes] if reading.keeps_body else b""
    return FetchedResponse(head, content, course.body_bytes, is_cut=True)


def _origin(url: str) -> str:
    return url[: url.index("/", 8)]
