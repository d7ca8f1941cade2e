"""Function calls on one shard: fencing, nonces, lost replies, clock jumps.

A call whose reply was lost may have been executed. Repeated with the same nonce, the function returns its
earlier reply; so a lost reply never issues a lease twice. Each call carries the owner's estimate of the
shard (the last call that was answered and the bounds of the current time), so that a store that came back
older refuses it, and a clock jump is corrected before anything is done by that clock.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from secrets import token_bytes
from typing import Any, Final, TypeVar

from strider.frontier import log_events
from strider.frontier.ports import ShardNotReady
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.storage.keys import FRONTIER_HEADER
from strider.storage.redis import Redis

from .function_library import frontier_function

MAX_CLOCK_ERROR_MS: Final = 1_000
"""How far the frontier's clock may be from its estimate."""

MAX_PRECISE_SECONDS: Final = 0.25
"""A slower reply is a worse measurement of the time than an earlier fast one."""


ENTRIES_PER_CALL: Final = 1000
"""Entries of one call: a few milliseconds in which the server does nothing else."""
DROPPED_PER_CALL: Final = 2000
PRUNED_PER_CALL: Final = 100

T = TypeVar("T")


@dataclass(slots=True)
class OwnerEstimate:
    """Estimate for one shard, since it was taken over."""

    last_completed_call: int = 0
    """Greatest number of an answered call that changed the header."""
    _clock_ms: int = 0
    _sent_at: float = 0.0
    _received_at: float = 0.0

    def record_reply(self, call: int) -> None:
        """Record the reply to a call that stored its number in the header."""
        self.last_completed_call = max(self.last_completed_call, call)

    def reset(self) -> None:
        """Record that the header starts again; the time does not."""
        self.last_completed_call = 0

    def record_clock(self, now_ms: int, *, sent_at: float, received_at: float) -> None:
        """Record what the frontier's clock showed between two moments of our own clock."""
        is_vague = received_at - sent_at > MAX_PRECISE_SECONDS
        if not is_vague or self._clock_ms == 0 or self._received_at - self._sent_at > MAX_PRECISE_SECONDS:
            self._clock_ms, self._sent_at, self._received_at = now_ms, sent_at, received_at

    def clock_bounds(self, at: float) -> tuple[int, int]:
        """Return the bounds of the frontier's clock at a moment of our own; zeros where unknown."""
        if self._clock_ms == 0:
            return 0, 0
        earliest = self._clock_ms + round((at - self._received_at) * 1000) - MAX_CLOCK_ERROR_MS
        latest = self._clock_ms + round((at - self._sent_at) * 1000) + MAX_CLOCK_ERROR_MS
        return max(earliest, 0), latest


Argument = str | bytes | int

_DONE: Final = 0
_FENCED: Final = 1
_OFF_CLOCK: Final = 3
_UNSAFE: Final = 4
_MAX_UNANSWERED: Final = 256

_RECORDS_CALL_NUMBER: Final = frozenset(
    {"accept", "conclude", "end_requests", "finish_rebuild", "refill", "release", "swap"}
)
"""Functions that store the number of the call in the header."""
_RETURNS_TIME: Final = frozenset({"correct_clock", "release", "stats", "swap", "take_over"})
"""Functions whose replies begin with the time."""

_log = logger("frontier")


class _OffClock(Exception):
    """The function refused to use a clock that has jumped."""


class ShardCalls:
    """Calls the frontier's functions."""

    def __init__(self, redis: Redis, clock: Clock, *, default_delay_ms: int, visited_ttl_ms: int) -> None:
        self._redis = redis
        self._clock = clock
        self._settings = (default_delay_ms, visited_ttl_ms)
        self._instance_id = token_bytes(8)
        self._call_count = 0
        self._estimates: dict[int, OwnerEstimate] = {}
        self._unanswered: dict[tuple[int, str, bytes], bytes] = {}
        self._clusters: dict[int, bytes] = {}

    async def run(
        self, name: str, shard: int, epoch: int, *, args: Sequence[Argument] = (), identity: bytes = b""
    ) -> list[Any]:
        """Call a function and return what follows its status. Raises Fenced, ShardNotReady, Unavailable.

        Calls with the same `identity` are repeats of each other; without one a call is identified by its
        arguments.
        """
        nonce = self._pop_unanswered(shard, name, args, identity) or self._new_nonce()
        try:
            return await self._run_with_clock_check(name, shard, epoch, nonce=nonce, args=args)
        except (Unavailable, CancelledError):
            while len(self._unanswered) >= _MAX_UNANSWERED:
                del self._unanswered[next(iter(self._unanswered))]
            self._unanswered[shard, name, identity or _digest(args)] = nonce
            raise

    def set_cluster(self, shard: int, cluster: str) -> None:
        """Set the Kafka cluster that the epochs of a shard are of; every further call carries it."""
        self._clusters[shard] = cluster.encode()

    def reset(self, shard: int) -> None:
        """Drop the unanswered calls of a shard: its header starts again."""
        for call in [call for call in self._unanswered if call[0] == shard]:
            del self._unanswered[call]
        if (estimate := self._estimates.get(shard)) is not None:
            estimate.reset()

    def discard(self, shard: int) -> None:
        """Drop all that is known of a shard: another process will write to it."""
        self.reset(shard)
        self._estimates.pop(shard, None)
        self._clusters.pop(shard, None)

    async def _run_with_clock_check(
        self, name: str, shard: int, epoch: int, *, nonce: bytes, args: Sequence[Argument]
    ) -> list[Any]:
        try:
            return await self._run(name, shard, epoch, nonce=nonce, args=args)
        except _OffClock:
            _, by_ms = await self._run("correct_clock", shard, epoch, nonce=self._new_nonce(), args=())
        if by_ms:  # else the call was late, and the clock is right
            _log.emit(log_events.FRONTIER_CLOCK_CORRECTED, shard=shard, by_ms=by_ms)
        try:
            return await self._run(name, shard, epoch, nonce=nonce, args=args)
        except _OffClock:
            raise Unavailable("redis", "its clock differs from the estimate") from None

    async def _run(
        self, name: str, shard: int, epoch: int, *, nonce: bytes, args: Sequence[Argument]
    ) -> list[Any]:
        estimate = self._estimates.setdefault(shard, OwnerEstimate())
        call = int.from_bytes(nonce[8:])
        sent_at = self._clock.monotonic()
        earliest, latest = estimate.clock_bounds(sent_at)
        caller = encode_caller(
            epoch,
            call,
            estimate.last_completed_call,
            earliest,
            latest,
            cluster=self._clusters.get(shard, b""),
        )
        reply = await self._redis.run(
            frontier_function(name),
            keys=[FRONTIER_HEADER(shard)],
            args=[caller, nonce, *self._settings, *args],
        )
        if not isinstance(reply, list) or not reply:
            raise Unavailable("redis", f"frontier_{name} returned {reply!r}")
        verdict, *rest = reply
        if verdict == _DONE:
            if name in _RECORDS_CALL_NUMBER:
                estimate.record_reply(call)
            if name in _RETURNS_TIME:
                estimate.record_clock(rest[0], sent_at=sent_at, received_at=self._clock.monotonic())
            return rest
        if verdict == _FENCED:
            raise ShardFenced(shard)
        if verdict == _OFF_CLOCK:
            raise _OffClock
        why = rest[0].decode(errors="replace")
        if verdict == _UNSAFE:
            raise Unavailable("redis", why)
        raise ShardNotReady(shard, why)

    def _pop_unanswered(
        self, shard: int, name: str, args: Sequence[Argument], identity: bytes
    ) -> bytes | None:
        if not self._unanswered:
            return None
        return self._unanswered.pop((shard, name, identity or _digest(args)), None)

    def _new_nonce(self) -> bytes:
        self._call_count += 1
        return self._instance_id + self._call_count.to_bytes(8)


def encode_caller(*numbers: int, cluster: bytes) -> bytes:
    """Encode the state of a caller, as `frontier_part_shard` reads it."""
    return b"".join([*(each.to_bytes(6) for each in numbers), cluster])


def _digest(args: Sequence[Argument]) -> bytes:
    digest = blake2b(digest_size=16)
    for each in args:
        value = each if isinstance(each, bytes) else str(each).encode(errors="surrogatepass")
        digest.update(len(value).to_bytes(8))
        digest.update(value)
    return digest.digest()


def split_calls(whole: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split what is too long for one call."""
    for first in range(0, len(whole), ENTRIES_PER_CALL):
        yield whole[first : first + ENTRIES_PER_CALL]
