"""Events about sources, from a stream in Redis.

One consumer group serves all processes of the api. An event is acknowledged when source and jobs are in their
present state; what a process that ended had not acknowledged, another one takes over. An event that can never
be applied is logged, counted by its reason, and acknowledged. One whose source-manager does not respond waits
for a minute, and holds up no other. An event without a time happened when it was added to the stream.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

from strider.api import log_events
from strider.api.core import MAX_EVENT_BYTES, EventFault, InvalidEventError, SourceEvent, read_event
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock, epoch_ms
from strider.runtime.observability.logging import logger
from strider.runtime.observability.metrics import Metric, Metrics
from strider.storage.errors import StoreRejected
from strider.storage.redis import Redis

GROUP: Final = "strider"
MAX_EVENTS: Final = 10
"""Events that are read at once: each may be large."""
POLL_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 2.0
TAKEN_OVER_AFTER_MS: Final = 60_000
"""An event that no process has acknowledged for so long is handled by another one."""

EVENTS: Final = Metric(
    "strider_source_events_total",
    "counter",
    "Events about sources that were acknowledged, by result: `applied`, or why nothing was changed.",
    ("result",),
)
APPLIED: Final = "applied"

_GROUP_EXISTS: Final = "BUSYGROUP"
_NO_GROUP: Final = "NOGROUP"

_log = logger("api")

Message = tuple[bytes, dict[bytes, bytes]]


class SourceEvents:
    """Reads a stream, and passes on its events."""

    def __init__(  # the parts that it joins
        self,
        redis: Redis,
        handle: Callable[[SourceEvent], Awaitable[None]],
        metrics: Metrics,
        *,
        stream: str,
        consumer: str,
        clock: Clock,
    ) -> None:
        """`handle` may raise Unavailable, and InvalidEventError for what can never be applied."""
        self._redis = redis
        self._handle = handle
        self._metrics = metrics
        self._stream = stream
        self._consumer = consumer
        self._clock = clock
        self._has_group = False
        metrics.declare(EVENTS)
        for result in (APPLIED, *EventFault):
            metrics.count(EVENTS, result, amount=0)

    async def run(self) -> None:
        """Handle events until the process ends."""
        while True:
            try:
                count = await self.poll()
            except (Unavailable, StoreRejected) as failure:
                if isinstance(failure, StoreRejected):
                    self._has_group = False  # the stream was deleted, and its group with it
                _log.emit(log_events.SOURCE_EVENTS_WAIT, stream=self._stream, why=str(failure)[:300])
                await self._clock.sleep(RETRY_SECONDS)
                continue
            if not count:
                await self._clock.sleep(POLL_SECONDS)

    async def poll(self) -> int:
        """Handle the events that are there; return how many. Raises Unavailable, and StoreRejected."""
        if not self._has_group:
            await self._create_group()
            self._has_group = True
        messages = [*await self._abandoned(), *await self._new()]
        waiting: Unavailable | None = None
        for position, fields in messages:
            try:
                await self._handle_message(position, fields)
            except Unavailable as failure:
                waiting = failure  # perhaps of this source alone; it is read again after a minute
            else:
                await self._redis.command("XACK", self._stream, GROUP, position)
        if waiting is not None:
            raise waiting
        return len(messages)

    async def _handle_message(self, position: bytes, fields: dict[bytes, bytes]) -> None:
        """Apply an event, or report why that can never be. Raises Unavailable."""
        try:
            texts = {
                name.decode("utf-8", "replace"): value[: MAX_EVENT_BYTES + 1].decode("utf-8", "replace")
                for name, value in fields.items()
            }
            added_ms = int(position.partition(b"-")[0])
            await self._handle(read_event(texts, added_ms=added_ms, now_ms=epoch_ms(self._clock)))
        except Unavailable:
            raise
        except InvalidEventError as failure:
            self._report(position, failure.fault, str(failure))
        except Exception as failure:  # noqa: BLE001  # no event may end the process, or be read for ever
            self._report(position, EventFault.FAILED, f"{type(failure).__name__}: {failure}")
        else:
            self._metrics.count(EVENTS, APPLIED)

    def _report(self, position: bytes, fault: EventFault, detail: str) -> None:
        self._metrics.count(EVENTS, fault.value)
        _log.emit(
            log_events.SOURCE_EVENT_INVALID,
            stream=self._stream,
            position=position.decode("utf-8", "replace"),
            reason=fault.value,
            why=detail.encode("utf-8", "backslashreplace").decode()[:300],
        )

    async def _create_group(self) -> None:
        try:
            await self._redis.command("XGROUP", "CREATE", self._stream, GROUP, "0", "MKSTREAM")
        except StoreRejected as refusal:
            if _GROUP_EXISTS not in f"{refusal.code} {refusal}":
                raise

    async def _new(self) -> list[Message]:
        reply = await self._redis.command(
            "XREADGROUP", "GROUP", GROUP, self._consumer, "COUNT", MAX_EVENTS, "STREAMS", self._stream, ">"
        )
        streams = reply.items() if isinstance(reply, dict) else reply or ()
        return [message for _, entries in streams for message in _messages(entries)]

    async def _abandoned(self) -> list[Message]:
        reply = await self._redis.command(
            "XAUTOCLAIM",
            self._stream,
            GROUP,
            self._consumer,
            TAKEN_OVER_AFTER_MS,
            "0-0",
            "COUNT",
            MAX_EVENTS,
        )
        return _messages(reply[1])


def _messages(entries: Sequence[Any]) -> list[Message]:
    """Return messages with their fields, in whichever form the client gives them, without deleted ones."""
    found = []
    for entry in _flat(entries):
        if entry is None or entry[0] is None or entry[1] is None:
            continue
        position, fields = entry
        if not isinstance(fields, dict):
            fields = dict(zip(fields[::2], fields[1::2], strict=True))
        found.append((position, fields))
    return found


def _flat(entries: Sequence[Any]) -> Iterable[Any]:
    """Return the entries; a client may nest them in one more list."""
    for entry in entries:
        if isinstance(entry, list) and entry and isinstance(entry[0], list | tuple):
            yield from entry
        else:
            yield entry
