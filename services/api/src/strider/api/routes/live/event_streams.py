"""Live streams as Server-Sent Events, and GET /sse/{crawler,health,metrics}/events.

A stream has a limit of age, all streams together one of number, so that other requests find a connection. A
client that takes nothing is closed by the server's limit for unread responses; one that is slow loses its
place, with an event that says so.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol

from fastapi import APIRouter, Depends, Header
from starlette.responses import StreamingResponse
from starlette.types import Send

from strider.api import log_events
from strider.api.core.server_sent_events import HEARTBEAT, MEDIA_TYPE, encode_event, retry_after
from strider.api.routes.auth import USER
from strider.api.routes.pages import only
from strider.api.routes.problem_details import RETRY_AFTER_SECONDS, ProblemError
from strider.api.routes.response_models import problems
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.storage.run_logs.models import BEGINNING, LogEntry, is_position

RECONNECT_MS: Final = 3_000

MAX_STREAM_SECONDS: Final = 3_600.0
"""A client connects again afterwards, with the token that it then has."""

HEARTBEAT_SECONDS: Final = 15.0

LastEventId = Annotated[
    str | None,
    Header(
        max_length=60, description="Id of the last event that the client has; the stream continues after it."
    ),
]
_TEXT: Final = {"type": "string"}
EVENT_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Server-Sent Events, each with these fields.",
        "content": {
            MEDIA_TYPE: {
                "schema": {"type": "object", "properties": dict.fromkeys(("id", "event", "data"), _TEXT)}
            }
        },
    },
    **problems(401, 404, 422, 503),
}

_log = logger("api")


class FollowedBatch(Protocol):
    """Entries of a followed log; none where nothing came for a while; or the end."""

    @property
    def entries(self) -> Sequence[LogEntry]:
        """New entries."""

    @property
    def end(self) -> str | None:
        """Name of the event that ends the stream."""


class FollowLogs(Protocol):
    """Logs that are followed."""

    def follow(self, run: str, *, after: str = BEGINNING) -> AsyncGenerator[FollowedBatch, None]:
        """Yield entries after a position, and then new ones."""

    async def last_position(self, run: str) -> str:
        """Return the position of the last entry."""


class FollowSnapshots(Protocol):
    """Snapshots that are followed."""

    def follow(self, *, heartbeat_seconds: float) -> AsyncGenerator[tuple[str, Any] | None, None]:
        """Yield the present snapshot, and then new ones, each with its id."""


class EventStreamResponse(StreamingResponse):
    """A stream whose source ends with it, however it ends."""

    media_type = MEDIA_TYPE

    def __init__(self, parts: AsyncGenerator[bytes, None]) -> None:
        super().__init__(parts, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._parts = parts

    async def stream_response(self, send: Send) -> None:
        """Send all parts."""
        async with aclosing(self._parts):
            await super().stream_response(send)


class OpenStreams:
    """The streams that are open, up to a number."""

    def __init__(self, *, most: int, clock: Clock) -> None:
        self._most = most
        self._clock = clock
        self._open = 0

    def response(self, parts: AsyncGenerator[bytes, None]) -> StreamingResponse:
        """Return the response that sends these parts; raises ProblemError where too many are open."""
        if self._open >= self._most:
            raise ProblemError(
                503,
                f"{self._most} streams are open already; come back later",
                headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
            )
        return EventStreamResponse(self._send(parts))

    async def _send(self, parts: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        self._open += 1
        until = self._clock.monotonic() + MAX_STREAM_SECONDS
        try:
            yield retry_after(RECONNECT_MS)
            async with aclosing(parts):
                async for part in parts:
                    yield part
                    if self._clock.monotonic() > until:
                        yield encode_event("closing", {"reason": "the stream is an hour old; connect again"})
                        return
        except Unavailable as failure:
            _log.emit(log_events.LIVE_LOG_PAUSED, why=str(failure))
            yield encode_event("closing", {"reason": f"{failure.dependency} does not respond now"})
        finally:
            self._open -= 1


@dataclass(frozen=True, slots=True)
class Feeds:
    """Sources of the streams."""

    streams: OpenStreams
    logs: FollowLogs
    health: FollowSnapshots
    metrics: FollowSnapshots
    recent: str
    """Name of the log with the last lines of all runs."""


_END_REASONS: Final = {
    "end": "the run has ended",
    "dropped": "the client reads too slowly: the next entries are no longer kept for it; continue with "
    "Last-Event-ID",
    "closing": "the API stops; connect again",
}


async def log_events_of(
    batches: AsyncGenerator[FollowedBatch, None], *, after: str, accepts: Callable[[dict[str, Any]], bool]
) -> AsyncGenerator[bytes, None]:
    """Yield the events of a followed log; each has its entry's position as its id."""
    position = after
    async with aclosing(batches):
        async for batch in batches:
            sent = b""
            for entry in batch.entries:
                position, document = entry.position, entry.document()
                if accepts(document):
                    sent += encode_event("log", document, event_id=position)
            if batch.end is not None:
                reason = _END_REASONS[batch.end]
                sent += encode_event(batch.end, {"reason": reason, "last_event_id": position})
            yield sent or HEARTBEAT


def read_position(last_event_id: str | None) -> str | None:
    """Return the position of a Last-Event-ID; raises ProblemError where it is none."""
    if last_event_id is not None and not is_position(last_event_id):
        raise ProblemError(422, "Last-Event-ID: send the id of an event of this stream, or none")
    return last_event_id


async def _snapshot_events(name: str, feed: FollowSnapshots) -> AsyncGenerator[bytes, None]:
    async with aclosing(feed.follow(heartbeat_seconds=HEARTBEAT_SECONDS)) as snapshots:
        async for snapshot in snapshots:
            yield HEARTBEAT if snapshot is None else encode_event(name, snapshot[1], event_id=snapshot[0])


def event_stream_routes(feeds: Feeds) -> APIRouter:
    """Build the routes of the crawler's own streams."""
    router = APIRouter(tags=["streams"], dependencies=[USER])
    checked = [Depends(only())]

    @router.get("/sse/crawler/events", responses=EVENT_STREAM, dependencies=checked)
    async def crawler(last_event_id: LastEventId = None) -> StreamingResponse:
        """Stream the lines of the logs of all runs, from now on or after an event."""
        after = read_position(last_event_id) or await feeds.logs.last_position(feeds.recent)
        batches = feeds.logs.follow(feeds.recent, after=after)
        return feeds.streams.response(log_events_of(batches, after=after, accepts=lambda _document: True))

    @router.get("/sse/health/events", responses=EVENT_STREAM, dependencies=checked)
    async def health() -> StreamingResponse:
        """Stream the state of the API and of what it depends on: now, and when it changes."""
        return feeds.streams.response(_snapshot_events("health", feeds.health))

    @router.get("/sse/metrics/events", responses=EVENT_STREAM, dependencies=checked)
    async def metrics() -> StreamingResponse:
        """Stream figures of the crawl every five seconds: fetchers, pages, failures, bytes."""
        return feeds.streams.response(_snapshot_events("metrics", feeds.metrics))

    return router
