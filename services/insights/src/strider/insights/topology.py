"""fetches-completed, pages-settled -> count -> a table of hosts.

Publishes nothing: no page depends on what is counted here, and a message that is delivered again is counted
again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from strider.contracts import DecodeError, Topic, UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.framing import Header
from strider.contracts.generated.topics import FETCHES_COMPLETED, PAGES_SETTLED
from strider.insights import log_events
from strider.runtime.observability.logging import logger

from .core import HostCounts, add_count, fetch_label, hour_of, is_expired, settlement_label

CONSUMES: Final = (FETCHES_COMPLETED, PAGES_SETTLED)
PRODUCES: Final[tuple[Topic[Any], ...]] = ()

REPLAY_HEADER: Final = "replay-id"
UNREADABLE: Final = "unreadable"

FindSchema: TypeAlias = Callable[[UnknownSchema], Awaitable[bool]]
"""Looks up a schema; waits for its dependencies without a limit."""

_log = logger("insights")


@dataclass(frozen=True, slots=True)
class ConsumedMessage:
    """A message as it was consumed."""

    topic: str
    partition: int
    timestamp_ms: int
    value: bytes | None
    headers: Sequence[Header] = ()


class HostCountStore(Protocol):
    """Port to the counts by host."""

    def get(self, host: str) -> HostCounts | None:
        """Return the counts of a host."""

    def store(self, host: str, counts: HostCounts, *, partition: int) -> None:
        """Store the counts of a host, with the partition that they came from."""

    def items(self) -> Iterable[tuple[str, HostCounts]]:
        """Return all hosts with their counts."""

    def delete(self, hosts: Sequence[str]) -> None:
        """Delete hosts."""


class CountObserver(Protocol):
    """Port to what observes counts."""

    def on_label(self, label: str) -> None:
        """Receive the label of a counted event."""

    def on_host(self, host: str, counts: HostCounts) -> None:
        """Receive the new counts of a host."""


class Insights:
    """Counts outcomes of requests and pages."""

    def __init__(
        self,
        hosts: HostCountStore,
        codec: Codec,
        *,
        find_schema: FindSchema,
        observer: CountObserver,
        now_ms: Callable[[], int],
        keep_hours: int,
    ) -> None:
        self._hosts = hosts
        self._codec = codec
        self._find_schema = find_schema
        self._observer = observer
        self._now_ms = now_ms
        self._keep_hours = keep_hours

    async def on_message(self, message: ConsumedMessage) -> None:
        """Count a message."""
        if any(name == REPLAY_HEADER for name, _ in message.headers):
            return  # a replayed message was counted the first time
        if (found := await self._host_and_label(message)) is None:
            return
        host, label = found
        hour = hour_of(message.timestamp_ms, now_ms=self._now_ms())
        counts = add_count(self._hosts.get(host), label, hour=hour)
        self._hosts.store(host, counts, partition=message.partition)
        self._observer.on_label(label)
        self._observer.on_host(host, counts)

    async def expire_hosts(self) -> None:
        """Delete hosts without events for too long."""
        now_ms = self._now_ms()
        hour = hour_of(now_ms, now_ms=now_ms)
        gone = [
            host
            for host, counts in self._hosts.items()
            if is_expired(counts, hour=hour, keep_hours=self._keep_hours)
        ]
        self._hosts.delete(gone)

    async def _host_and_label(self, message: ConsumedMessage) -> tuple[str, str] | None:
        """Return host and label; None for a message that cannot be decoded, which is counted as such."""
        try:
            try:
                return self._decode(message)
            except UnknownSchema as unknown:
                await self._find_schema(unknown)
                return self._decode(message)
        except DecodeError as failure:
            self._observer.on_label(UNREADABLE)
            _log.emit(log_events.INSIGHTS_EVENT_UNREADABLE, topic=message.topic, why=str(failure))
            return None

    def _decode(self, message: ConsumedMessage) -> tuple[str, str]:
        if message.topic == FETCHES_COMPLETED.name:
            fetch = self._codec.decode(FETCHES_COMPLETED, message.value, message.headers)
            return fetch.group, fetch_label(fetch)
        settled = self._codec.decode(PAGES_SETTLED, message.value, message.headers)
        return settled.group, settlement_label(settled)
