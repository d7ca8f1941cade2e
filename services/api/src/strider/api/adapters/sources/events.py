"""Events about sources, from a stream in Redis.

One consumer group serves all processes of the api. An event is acknowledged when source and jobs are in their
present state; what a process that ended had not acknowledged, another one takes over. Events that cannot be
read are logged and acknowledged. An event without a time happened when it was added to the stream.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from strider.api import log_events
from strider.api.core import InvalidListingError, SourceEvent, read_event
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.storage.errors import StoreRejected
from strider.storage.redis import Redis

GROUP: Final = "strider"
MAX_EVENTS: Final = 50
POLL_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 2.0
TAKEN_OVER_AFTER_MS: Final = 60_000
"""An event that no process has acknowledged for so long is handled by another one."""

_GROUP_EXISTS: Final = "BUSYGROUP"
_NO_GROUP: Final = "NOGROUP"

_log = logger("api")

Message = tuple[bytes, dict[bytes, bytes]]


class SourceEvents:
    """Reads a stream, and passes on its events."""

    def __init__(
        self,
        redis: Redis,
        handle: Callable[[SourceEvent], Awaitable[None]],
        *,
        stream: str,
        consumer: str,
        clock: Clock,
    ) -> None:
        self._redis = redis
        self._handle = handle
        self._stream = stream
        self._consumer = consumer
        self._clock = clock
        self._has_group = False

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
        for position, fields in messages:
            await self._handle_message(position, fields)
            await self._redis.command("XACK", self._stream, GROUP, position)
        return len(messages)

    async def _handle_message(self, position: bytes, fields: dict[bytes, bytes]) -> None:
        texts = {
            name.decode("utf-8", "replace"): value.decode("utf-8", "replace")
            for name, value in fields.items()
        }
        try:
            event = read_event(texts)
        except InvalidListingError as failure:
            _log.emit(
                log_events.SOURCE_EVENT_INVALID,
                stream=self._stream,
                position=position.decode(),
                why=str(failure)[:300],
            )
            return
        if not event.at_ms:
            event = replace(event, at_ms=int(position.partition(b"-")[0]))
        await self._handle(event)

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
