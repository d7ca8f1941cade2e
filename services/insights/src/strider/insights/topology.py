"""fetches-completed, pages-settled -> count -> a table of hosts.

Nothing is said to anybody: no page depends on what is counted here, and a message that comes again
is counted again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from strider.contracts import DecodeError, Topic, UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.framing import Header
from strider.contracts.generated.topics import FETCHES_COMPLETED, PAGES_SETTLED
from strider.runtime.observability.logging import logger

from .core import HostCounts, add_count, fetch_label, hour_of, is_forgotten, settlement_label

CONSUMES: Final = (FETCHES_COMPLETED, PAGES_SETTLED)
PRODUCES: Final[tuple[Topic[Any], ...]] = ()

REPLAY_HEADER: Final = "replay-id"
UNREADABLE: Final = "unreadable"

FindSchema: TypeAlias = Callable[[UnknownSchema], Awaitable[bool]]
"""Looks for a schema wherever it may be by now; waits for what it needs, for ever."""

_log = logger("insights")


@dataclass(frozen=True, slots=True)
class ConsumedMessage:
    """A message as it was read."""

    topic: str
    partition: int
    timestamp_ms: int
    value: bytes | None
    headers: Sequence[Header] = ()


class HostCountStore(Protocol):
    """Where counts are, by host."""

    def get(self, host: str) -> HostCounts | None:
        """Give the counts of a host."""

    def store(self, host: str, counts: HostCounts, *, partition: int) -> None:
        """Keep the counts of a host, beside the partition that they came from."""

    def items(self) -> Iterable[tuple[str, HostCounts]]:
        """Give everything that is kept."""

    def delete(self, hosts: Sequence[str]) -> None:
        """Let hosts go."""


class CountObserver(Protocol):
    """Who is told what was counted."""

    def on_label(self, label: str) -> None:
        """Hear which word was counted."""

    def on_host(self, host: str, counts: HostCounts) -> None:
        """Hear what a host's counts are now."""


class Insights:
    """Counts what came of requests and pages."""

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
        self._find = find_schema
        self._tell = observer
        self._now_ms = now_ms
        self._keep_hours = keep_hours

    async def on_message(self, message: ConsumedMessage) -> None:
        """Count a message."""
        if any(name == REPLAY_HEADER for name, _ in message.headers):
            return  # it was counted when it came first
        if (found := await self._read(message)) is None:
            return
        host, word = found
        hour = hour_of(message.timestamp_ms, now_ms=self._now_ms())
        counts = add_count(self._hosts.get(host), word, hour=hour)
        self._hosts.store(host, counts, partition=message.partition)
        self._tell.on_label(word)
        self._tell.on_host(host, counts)

    async def expire_hosts(self) -> None:
        """Let go of hosts from which nothing came for too long."""
        now_ms = self._now_ms()
        hour = hour_of(now_ms, now_ms=now_ms)
        gone = [
            host
            for host, counts in self._hosts.items()
            if is_forgotten(counts, hour=hour, keep_hours=self._keep_hours)
        ]
        self._hosts.delete(gone)

    async def _read(self, message: ConsumedMessage) -> tuple[str, str] | None:
        """Give host and word; None for what cannot be read, which is counted as that."""
        try:
            try:
                return self._decode(message)
            except UnknownSchema as unknown:
                await self._find(unknown)
                return self._decode(message)
        except DecodeError as failure:
            self._tell.on_label(UNREADABLE)
            _log.warning("Event Unreadable", topic=message.topic, why=str(failure))
            return None

    def _decode(self, message: ConsumedMessage) -> tuple[str, str]:
        if message.topic == FETCHES_COMPLETED.name:
            fetch = self._codec.decode(FETCHES_COMPLETED, message.value, message.headers)
            return fetch.group, fetch_label(fetch)
        settled = self._codec.decode(PAGES_SETTLED, message.value, message.headers)
        return settled.group, settlement_label(settled)
