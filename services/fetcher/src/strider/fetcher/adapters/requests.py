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
from strider.fetcher.core import (
    Answer,
    Failed,
    Head,
    Identity,
    Making,
    Proxy,
    Reading,
    RedirectRules,
    head_of,
    headers_of,
    is_redirect,
    looks_like_text,
    reading_of,
    redirect_of,
    unread,
    url_refusal,
    user_agent_of,
)
from strider.messaging.ports import Clock
from strider.urls import host_of

from .budget import Budget, Holding
from .course import Course, RequestOptions
from .failures import Failure, failure_of
from .foreign import ForeignRobots
from .leases import Started
from .transport import Body, EngineTransport

PROXY_WANTS_ACCOUNT: Final = 407
TIRED_OF_WAITING: Final = 408
"""What servers say when they close a connection that was kept: it has met our request on its way."""
NO_ACCOUNT: Final = Failed(ErrorClass.PROXY_AUTH, "the proxy wants an account")


@fast_dataclass(frozen=True, slots=True)
class Fetched:
    """A request that is over."""

    came: Answer | Failed
    made: Making
    holding: Holding
    """The body's bytes; to be released when they are spoken."""
    ended_at: float
    """Monotonic."""


class Requests:
    """Makes requests, as many at a time as it is asked to."""

    def __init__(
        self,
        transport: EngineTransport,
        *,
        identity: Identity,
        rules: RedirectRules,
        budget: Budget,
        clock: Clock,
        worker_id: str,
        options: RequestOptions | None = None,
    ) -> None:
        self._transport = transport
        self._identity = identity
        self._rules = rules
        self._budget = budget
        self._clock = clock
        self._worker_id = worker_id
        self._options = options or RequestOptions()
        self._foreign = ForeignRobots(clock)
        self._courses: set[Course] = set()
        self._ends_at: float | None = None
        """When the process has to have everything behind it; None while nobody wants it to end."""

    async def make(self, request: FetchRequested, start: Started, *, via: Proxy | None = None) -> Fetched:
        """Make a request that was marked. Whatever happens, this answers (unless it is cancelled)."""
        seconds = min(request.deadline_ms / 1000, self._options.max_deadline_seconds)
        deadline = start.asked_at + seconds
        course = Course(request, self._budget.hold(), self._clock, self._options, deadline, via)
        course.begin_exchange(since=start.asked_at)
        if self._ends_at is not None:
            course.end_by(self._ends_at)
        self._courses.add(course)
        try:
            came = await self._within_limits(course)
        finally:
            self._courses.discard(course)
        is_cancelled = isinstance(came, Failed) and came.error == ErrorClass.CANCELLED
        is_before = not course.head_at and (is_cancelled or not course.has_connected)
        made = self._making(course, start, is_before_connect=is_before)
        return Fetched(came, made, course.holding, self._clock.monotonic())

    def finish_within(self, seconds: float) -> None:
        """End everything within a time: what is not over then ends as interrupted."""
        self._ends_at = ends_at = self._clock.monotonic() + seconds
        for course in self._courses:
            course.end_by(ends_at)

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def _within_limits(self, course: Course) -> Answer | Failed:
        try:
            async with course.limit():
                return await self._follow(course)
        except Failure as failure:
            found = failure
        except TimeoutError as error:
            if course.is_draining and course.head is not None:
                return Answer(course.head, body_bytes=course.body_bytes, is_cut=True)
            found = course.overdue() if course.has_expired else failure_of(error)
        finally:
            course.end_exchange()
        course.holding.release()
        return Failed(found.error, found.message, course.head, course.body_bytes, course.came_by)

    async def _follow(self, course: Course) -> Answer | Failed:
        """Ask; of a robots.txt also those that it points to."""
        request, url = course.request, course.request.url
        while True:
            came_by = course.came_by
            refused = url_refusal(url, places=self._rules.places)
            if refused is not None:
                return replace_fields(refused, came_by=came_by)
            answer = await self._ask_paced(course, url)
            if isinstance(answer, Failed):
                return replace_fields(answer, came_by=came_by)
            if request.kind != RequestKind.ROBOTS:
                return answer
            if not is_redirect(answer.head):
                return replace_fields(answer, url=url, came_by=came_by)
            redirect = redirect_of(answer.head, url=url, came_by=came_by, hop=len(came_by), rules=self._rules)
            if redirect.refused:
                return replace_fields(answer, url=url, came_by=came_by)
            course.came_by, url = (*came_by, url), redirect.target

    async def _ask_paced(self, course: Course, url: str) -> Answer | Failed:
        """Ask where we were sent to; where that is another host, only as often as it bears."""
        if url == course.request.url:
            return await self._ask(course, url)
        if host_of(url) == host_of(course.request.url):
            return await self._ask_again(course, url)
        return await self._foreign.answer(url, lambda: self._ask_again(course, url))

    async def _ask_again(self, course: Course, url: str) -> Answer | Failed:
        course.end_exchange()
        course.begin_exchange(since=self._clock.monotonic())
        return await self._ask(course, url)

    async def _ask(self, course: Course, url: str) -> Answer | Failed:
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
        reading = _no_answer(course, course.head) or reading_of(request, course.head)
        if isinstance(reading, Failed):
            body.close_now(is_whole=False)
            return reading
        return await self._read(course, body, head=course.head, reading=reading)

    async def _read(self, course: Course, body: Body, *, head: Head, reading: Reading) -> Answer | Failed:
        chunks: list[bytes] = []
        is_whole = False
        course.begin_body(is_kept=reading.is_kept, has_come=body.has_come)
        try:
            if reading.is_kept:
                await course.hold()
            async for chunk in body:
                course.body_bytes += len(chunk)
                if reading.is_suspect and not chunks and not looks_like_text(chunk):
                    return unread(head)
                if course.body_bytes > reading.limit_bytes:
                    return _too_long(course, chunks, last=chunk, head=head, reading=reading)
                if reading.is_kept:
                    chunks.append(chunk)
                    await course.hold(len(chunk), has_come=body.has_come)
                if not body.has_come:
                    course.watch_speed()
            is_whole = True
        except Failure:
            if reading.is_kept:
                raise
        finally:
            body.close_now(is_whole=is_whole)
        content = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        return Answer(head, content, course.body_bytes, is_cut=not is_whole)

    def _making(self, course: Course, start: Started, *, is_before_connect: bool) -> Making:
        now, exchange = self._clock.monotonic(), course.exchange
        return Making(
            marked_at_us=start.now_us,
            completed_at_us=start.at_us(now),
            started_at_us=start.at_us(course.head_at) if course.head_at else 0,
            worker_id=self._worker_id,
            user_agent=user_agent_of(course.request, self._identity),
            is_before_connect=is_before_connect,
            remote_address=exchange.remote_address,
            proxy="" if course.via is None else course.via.name,
            is_reused=exchange.is_reused,
            is_tls_verified=not course.request.insecure_tls,
            dns_us=exchange.dns_us(),
            connect_us=exchange.connect_us(),
            tls_us=exchange.tls_us(),
            ttfb_us=exchange.ttfb_us(),
            total_us=round((now - (course.head_at or start.asked_at)) * 1_000_000),
        )


def _no_answer(course: Course, head: Head) -> Failed | None:
    """Say of a head that it answers something else than what was asked."""
    if course.via is not None and head.status == PROXY_WANTS_ACCOUNT:
        return NO_ACCOUNT
    is_tired = head.status == TIRED_OF_WAITING and course.exchange.is_reused
    return (
        Failed(ErrorClass.CONNECTION_CLOSED, "closed as idle (408) when it was asked", head)
        if is_tired
        else None
    )


def _too_long(
    course: Course, chunks: list[bytes], *, last: bytes, head: Head, reading: Reading
) -> Answer | Failed:
    if not reading.may_cut:
        message = f"more than {reading.limit_bytes} bytes"
        return Failed(ErrorClass.BODY_TOO_LARGE, message, head, course.body_bytes)
    content = (b"".join(chunks) + last)[: reading.limit_bytes] if reading.is_kept else b""
    return Answer(head, content, course.body_bytes, is_cut=True)


def _origin(url: str) -> str:
    return url[: url.index("/", 8)]
