"""Offset commits: each partition's contiguous prefix, one commit for many messages."""

from __future__ import annotations

from collections.abc import Mapping

from strider.messaging.errors import OffsetMissing, PartitionNotOwned, Unavailable, UnreadRange
from strider.messaging.ports import Consumer, TopicPartition
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.runtime.retry import Backoff

from .messages import AssignedPartition
from .pauses import Pauses
from .spec import ConsumerPorts, ConsumerSettings

COMMIT = "commit"
TRANSACTION = "transaction"

OPEN_TRANSACTION_SECONDS = 30.0
"""How long a transaction may hold a partition unnoticed: own ones end within a second."""

_log = logger("loop")


class OffsetCommitter:
    """Commits completed offsets at intervals and on revocation, and measures the lag."""

    def __init__(self, *, ports: ConsumerPorts, settings: ConsumerSettings, pauses: Pauses) -> None:
        self._ports = ports
        self._settings = settings
        self._pauses = pauses
        self._backoff = Backoff(clock=ports.clock, chance=ports.chance)
        self._due_at = ports.clock.monotonic()
        self._measured_at = ports.clock.monotonic()
        self._held_since: dict[tuple[TopicPartition, int], float] = {}
        """Monotonic time since which an open transaction holds a partition at an offset."""
        self.lags: Mapping[TopicPartition, int] = {}
        """Messages from the first incomplete one to the end of the log, as last measured."""

    async def commit_due(
        self, consumer: Consumer, assigned: Mapping[TopicPartition, AssignedPartition]
    ) -> None:
        """Commit if the interval has passed, and report which partitions have caught up."""
        if self._ports.clock.monotonic() >= self._due_at:
            self._notify_caught_up(assigned)
            await self.commit(consumer, assigned)

    async def commit(self, consumer: Consumer, assigned: Mapping[TopicPartition, AssignedPartition]) -> None:
        """Commit what is done and not committed; never raise for what can be repeated."""
        self._due_at = self._ports.clock.monotonic() + self._settings.commit_interval_seconds
        offsets = {
            name: position
            for name, partition in assigned.items()
            if not partition.is_truncated
            and (position := partition.offsets.position) is not None
            and position != partition.committed
        }
        if offsets:
            await self._send(consumer, assigned, offsets)
        else:
            # The commit took effect although its response was lost, or the partition was revoked.
            self._backoff.reset()
            self._pauses.clear(COMMIT)

    async def _send(
        self,
        consumer: Consumer,
        assigned: Mapping[TopicPartition, AssignedPartition],
        offsets: Mapping[TopicPartition, int],
    ) -> None:
        sent = [(assigned[name], offset) for name, offset in offsets.items()]
        try:
            await consumer.commit(offsets)
        except PartitionNotOwned as failure:
            # Another member owns the partitions: the messages are handled again there, and nothing is lost.
            self._ports.meter.commit_failed("not_owned")
            _log.emit(log_events.COMMIT_REFUSED, why=str(failure))
        except Unavailable as failure:
            self._due_at = self._ports.clock.monotonic() + self._backoff.next_seconds()
            self._ports.meter.commit_failed("unavailable")
            self._pauses.begin(COMMIT, str(failure))
            return
        else:
            for partition, offset in sent:
                partition.committed = offset
        self._backoff.reset()
        self._pauses.clear(COMMIT)

    async def measure_lag(
        self, consumer: Consumer, assigned: Mapping[TopicPartition, AssignedPartition]
    ) -> None:
        """Measure the lag at intervals, and skip offsets that no reader sees (transaction markers).

        Measured at once when a partition becomes readable: a shard takeover may wait until everything
        published before it is read.
        """
        now = self._ports.clock.monotonic()
        has_new = any(each.is_new and not each.hold_reasons for each in assigned.values())
        if not has_new and now - self._measured_at < self._settings.lag_interval_seconds:
            return
        self._measured_at = now
        self._report_open_transactions(consumer.held_by_transactions(), now)
        try:
            ends = await consumer.end_offsets(assigned.keys())
            lags = {}
            for name in ends:
                partition = assigned.get(name)
                if (
                    partition is None
                    or partition.is_revoking
                    or partition.is_fenced
                    or partition.is_truncated
                ):
                    continue
                if partition.catch_up_target is None or (partition.is_new and not partition.hold_reasons):
                    partition.catch_up_target = now, ends[name]
                    await _load_committed(partition, consumer)
                partition.is_new = partition.is_new and bool(partition.hold_reasons)
                position = await consumer.position(name)
                first_open = partition.offsets.first_incomplete
                lags[name] = max(0, ends[name] - (position if first_open is None else first_open))
                self._ports.meter.lag(*name, lags[name])
                await _skip_markers(partition, position, consumer)
        except (Unavailable, PartitionNotOwned, OffsetMissing, UnreadRange):
            return  # the next poll meets the same failure and reports it
        self.lags = lags
        self._notify_caught_up(assigned)

    def _report_open_transactions(self, held: Mapping[TopicPartition, int], now: float) -> None:
        """Name each partition that an open transaction holds: its lag is zero, as nothing can be read."""
        before = self._held_since
        self._held_since = {place: before.get(place, now) for place in held.items()}
        for name, _ in before.keys() - self._held_since.keys():
            self._pauses.clear(f"{TRANSACTION} {name.topic}[{name.partition}]")
        for (name, offset), since in self._held_since.items():
            if now - since >= OPEN_TRANSACTION_SECONDS:
                place = f"{name.topic}[{name.partition}]"
                self._pauses.begin(
                    f"{TRANSACTION} {place}",
                    f"{place}: nothing is readable from offset {offset} on: a transaction that began there "
                    f"was not ended for {OPEN_TRANSACTION_SECONDS:.0f} s; the broker aborts it at its "
                    "timeout, an operator with kafka-transactions.sh find-hanging and abort",
                    is_exempt=False,
                )

    def _notify_caught_up(self, assigned: Mapping[TopicPartition, AssignedPartition]) -> None:
        for name, partition in assigned.items():
            if partition.catch_up_target is None or partition.is_revoking or partition.is_fenced:
                continue
            as_of, end = partition.catch_up_target
            known = (
                partition.offsets.position if partition.offsets.position is not None else partition.committed
            )
            if known is not None and known >= end:
                partition.catch_up_target = None
                self._ports.on_caught_up(name, as_of)


async def _load_committed(partition: AssignedPartition, consumer: Consumer) -> None:
    """Load the committed offset where nothing was done yet; on an idle topic it is the end."""
    if partition.offsets.position is None and partition.committed is None:
        partition.committed = await consumer.committed(partition.name)


async def _skip_markers(partition: AssignedPartition, position: int, consumer: Consumer) -> None:
    """Advance the offset to a position that no message carried it to; else the partition would lag for ever.

    Only a position that has not moved since the last measurement has no message on its way from a poll.
    """
    done, quiet_at = partition.offsets, partition.idle_position
    partition.idle_position = position if done.first_incomplete is None else None
    if done.first_incomplete is not None or quiet_at != position:
        return
    await _load_committed(partition, consumer)
    known = done.position if done.position is not None else partition.committed
    if known is not None and position > known:
        done.skip_to(position)
