"""Metrics and heartbeats of a consumer loop.

Implements the loop's `ConsumerMeter` port with the declared metrics, so that the loop names none of them.
Called for every message, hence short.
"""

from __future__ import annotations

from strider.messaging.effects import DEAD_LETTERED
from strider.messaging.ports import Clock
from strider.runtime.process.heartbeat import Heartbeat

from . import metrics as declared
from .metrics import Metrics


class ConsumerMetrics:
    """Metrics of one loop."""

    def __init__(self, metrics: Metrics, heartbeat: Heartbeat, *, group: str, clock: Clock) -> None:
        self._clock = clock
        self._metrics = metrics
        self._heartbeat = heartbeat
        self._group = group
        self._paused: set[str] = set()
        self._lags: dict[tuple[str, int], int] = {}
        self.lag_measured_at = heartbeat.last_activity
        """Monotonic time at which the loop last learnt its lag from the broker."""

    def handled(self, topic: str, outcome: str, seconds: float) -> None:
        """Count a message that is done."""
        if outcome != DEAD_LETTERED:
            self._heartbeat.record_success()
        self._metrics.count(declared.MESSAGES, topic, outcome)
        self._metrics.observe(declared.HANDLER_SECONDS, topic, value=seconds)

    def in_flight(self, messages: int, size_bytes: int, running: int) -> None:
        """Set how many messages are read and not done, and how many handlers run."""
        self._metrics.set(declared.IN_FLIGHT, self._group, value=messages)
        self._metrics.set(declared.IN_FLIGHT_BYTES, self._group, value=size_bytes)
        self._metrics.set(declared.ACTIVE_WORKERS, self._group, value=running)

    def waiting(self, senders: str, messages: int, seconds: float) -> None:
        """Set how many messages of a group of senders wait for a place, and the longest for how long."""
        self._metrics.set(declared.WAITING_FOR_PLACE, self._group, senders, value=messages)
        self._metrics.set(declared.PLACE_WAIT_SECONDS, self._group, senders, value=seconds)

    def dead_lettered(self, topic: str, reason: str) -> None:
        """Count a message that was dead-lettered."""
        self._heartbeat.record_failure()
        self._metrics.count(declared.DEAD_LETTERS, topic, reason)

    def lost(self, topic: str, partition: int, messages: int) -> None:  # noqa: ARG002  # the log names it
        """Count messages that retention deleted unread."""
        self._metrics.count(declared.LOSSES, topic)
        self._metrics.count(declared.LOST_MESSAGES, topic, amount=messages)

    def batch_skipped(self, topic: str) -> None:
        """Count a record batch that was skipped unread."""
        self._metrics.count(declared.SKIPPED_BATCHES, topic)

    def log_truncated(self, topic: str) -> None:
        """Count a log that lost its tail."""
        self._metrics.count(declared.TRUNCATED_LOGS, topic)

    def lag(self, topic: str, partition: int, messages: int | None) -> None:
        """Set the lag of a partition while it is assigned here."""
        if messages is None:
            self._lags.pop((topic, partition), None)
            self._metrics.remove(declared.LAG, self._group, topic, str(partition))
        else:
            self.lag_measured_at = self._clock.monotonic()
            self._lags[topic, partition] = messages
            self._metrics.set(declared.LAG, self._group, topic, str(partition), value=messages)

    @property
    def total_lag(self) -> int:
        """Lag of all partitions of this process, as last measured."""
        return sum(self._lags.values())

    def paused(self, reason: str, *, is_paused: bool) -> None:
        """Set whether a pause is in force."""
        if is_paused and reason not in self._paused:
            self._metrics.count(declared.PAUSES, reason)
        (self._paused.add if is_paused else self._paused.discard)(reason)
        self._metrics.set(declared.PAUSED, self._group, reason, value=int(is_paused))

    def rebalanced(self, partitions: int) -> None:  # noqa: ARG002  # how many is the lag's series to show
        """Count a rebalance; a group that settles is not stalled."""
        self._heartbeat.beat()
        self._metrics.count(declared.REBALANCES, self._group)

    def commit_failed(self, why: str) -> None:
        """Count a failed commit."""
        self._metrics.count(declared.COMMIT_FAILURES, self._group, why)

    def retried(self, part: str) -> None:
        """Count a message that has to wait for an unavailable dependency."""
        self._metrics.count(declared.RETRIES, part)
