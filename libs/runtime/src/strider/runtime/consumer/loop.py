"""Consumer loop of one group: poll, pass messages to workers, commit.

Decides when to read. `pipeline` takes a message through its stages, `worker_pool` runs it, `partitions`
handles rebalances. The loop ends when it is stopped, or with the first error that no message caused. It knows
no client library and no service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from strider.messaging.effects import Subscription
from strider.messaging.errors import (
    OffsetMissing,
    PartitionNotOwned,
    PartitionUnavailable,
    Unavailable,
    UnreadRange,
)
from strider.messaging.ports import Bus, Consumer, GroupSpec, TopicPartition
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.runtime.retry import Backoff

from .buffer import MessageBuffer, subscriptions_by_topic
from .commits import OffsetCommitter
from .error_policy import ErrorPolicy
from .partitions import PartitionAssignment
from .pauses import Pauses, wait_at_most
from .pipeline import Pipeline
from .ports import MessageCodec
from .spec import ConsumerPorts, ConsumerSettings
from .unread_ranges import LOSS, UnreadablePartitions, report_unread
from .worker_pool import WorkerPool

POLL = "poll"
OFFSETS = "offsets"
GATE = "gate"

_log = logger("loop")


class ConsumerLoop:
    """Consumes the topics of one group and carries out the effects that its handlers return."""

    def __init__(
        self,
        bus: Bus,
        codec: MessageCodec,
        subscriptions: Sequence[Subscription],
        group: GroupSpec,
        *,
        ports: ConsumerPorts,
        settings: ConsumerSettings | None = None,
    ) -> None:
        self._bus = bus
        self._group = group
        self._ports = ports
        self._settings = settings = settings or ConsumerSettings()
        self._subscriptions = subscriptions_by_topic(subscriptions, group)
        self._tasks: asyncio.TaskGroup | None = None
        self._stopping = asyncio.Event()
        self._consumer: Consumer | None = None
        self._backoff = Backoff(clock=ports.clock, chance=ports.chance)
        self._helpers: set[asyncio.Task[None]] = set()
        self._pauses = Pauses(ports.meter)
        self._pool = WorkerPool(ports=ports, settings=settings, pauses=self._pauses)
        self._pauses.set_resume_callback(self._on_resume)
        self._buffer = MessageBuffer(
            self._subscriptions,
            settings=settings,
            pauses=self._pauses,
            pool=self._pool,
            gate=ports.read_gate,
        )
        self._committer = OffsetCommitter(ports=ports, settings=settings, pauses=self._pauses)
        self._unreadable = UnreadablePartitions(clock=ports.clock, chance=ports.chance, pauses=self._pauses)
        self._partitions = self._new_partitions()
        self._error_policy = self._new_error_policy()
        self._pipeline = self._new_pipeline(codec)
        self._partitions.report_waiting_for_group()

    @property
    def group(self) -> str:
        """Name of the consumer group."""
        return self._group.group

    @property
    def last_activity(self) -> float:
        """Monotonic time of the last step of any message, or of a shard takeover."""
        return max(self._pipeline.last_activity, self._partitions.last_activity)

    @property
    def paused_reasons(self) -> Mapping[str, str]:
        """Reasons of the current pauses, with a sentence each. Not ready while there is one."""
        return self._pauses.reasons

    @property
    def exempt_pauses(self) -> Mapping[str, str]:
        """Those pauses that the watchdog accepts as a reason why nothing moves, and a closed gate."""
        gate, exempt = self._ports.read_gate, self._pauses.exempt_reasons
        return exempt if gate.is_open else {**exempt, GATE: gate.reason}

    @property
    def opening(self) -> int:
        """Shards that are being taken over: work that waits, as messages do."""
        return self._partitions.opening

    @property
    def in_flight(self) -> int:
        """Messages read and not done."""
        return self._buffer.message_count

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of the messages read and not done."""
        return self._buffer.size_bytes

    @property
    def running(self) -> int:
        """Messages that a worker is busy with."""
        return self._pool.running

    @property
    def lags(self) -> Mapping[TopicPartition, int]:
        """Lag of each assigned partition, as last measured."""
        held = self._partitions.assigned
        return {name: lag for name, lag in self._committer.lags.items() if name in held}

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that this member has now."""
        return frozenset(self._partitions.assigned)

    def request_stop(self) -> None:
        """Let `run` finish the messages in flight, commit, leave the group and return."""
        self._stopping.set()
        self._buffer.can_read.set()

    def reset_breaker(self) -> None:
        """Continue after the breaker has tripped and the cause was looked at; a restart does the same."""
        self._error_policy.reset_breaker()

    async def run(self) -> None:
        """Consume until stopped; raise the first error that no message caused."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                await self._consume()
                for task in self._helpers:
                    task.cancel()
        except BaseExceptionGroup as failures:
            for also in failures.exceptions[1:]:
                _log.emit(log_events.FURTHER_FAILURE_RECORDED, error=repr(also))
            raise failures.exceptions[0] from None
        finally:
            await self._pipeline.stop()
            if self._consumer is not None:
                await self._consumer.close()

    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """Take partitions (called by the consumer)."""
        kept = frozenset[TopicPartition]() if self._consumer is None else self._consumer.kept()
        await self._guard(self._partitions.on_assigned(partitions, kept=kept))

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Release partitions (called by the consumer). Groups rebalance eagerly: all of them at once."""
        await self._guard(self._partitions.on_revoked(partitions))

    async def _consume(self) -> None:
        self._pool.start(self._spawn, self._pipeline.advance)
        while self._consumer is None and not self._stopping.is_set():
            await self._attempt(self._join())
        consumer = self._consumer
        if consumer is None:
            return
        while not self._stopping.is_set():
            await self._attempt(self._read(consumer))
            await asyncio.sleep(0)  # a bus that never waits must not keep the workers from running
            await self._committer.commit_due(consumer, self._partitions.assigned)
            await self._committer.measure_lag(consumer, self._partitions.assigned)
            self._partitions.check_fenced(self._group.session_timeout_seconds)
        await self._partitions.give_up_all(timeout_seconds=self._settings.stop_timeout_seconds)

    async def _join(self) -> None:
        joining = asyncio.ensure_future(self._bus.consumer(self._group, self))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((joining, stopping), return_when=asyncio.FIRST_COMPLETED)
            if joining.done():
                self._consumer = joining.result()
        finally:
            stopping.cancel()
            if not joining.done():
                joining.cancel()
                await asyncio.wait((joining,))

    async def _read(self, consumer: Consumer) -> None:
        """Poll once: for messages where the buffer has room, else only to stay a member."""
        intake = self._buffer
        if not intake.has_capacity():
            await self._wait(intake.can_read, self._settings.keepalive_seconds)
        has_room = intake.has_capacity()
        await self._unreadable.proceed(self._partitions.assigned, consumer)
        self._partitions.apply_pauses(consumer, is_full=not has_room)
        batches = await consumer.poll(
            max_records=intake.free_messages() if has_room else 1,
            timeout_seconds=self._settings.poll_seconds if has_room else 0.0,
        )
        intake.add(batches, self._partitions.assigned)
        self._ports.meter.in_flight(intake.message_count, intake.size_bytes, self._pool.running)

    async def _attempt(self, attempt: Coroutine[Any, Any, None]) -> None:
        """Make one attempt at what needs the broker; record what is wrong with it, and back off."""
        try:
            await attempt
        except PartitionUnavailable as failure:
            await self._on_unreadable(failure)
        except Unavailable as failure:
            await self._back_off(POLL, str(failure))
        except OffsetMissing as failure:
            await self._back_off(OFFSETS, str(failure))
        except UnreadRange as unread:
            await self._on_unread_range(unread)
        except PartitionNotOwned as failure:
            # The group rebalanced during the call; the next poll uses the new assignment.
            _log.emit(log_events.PARTITIONS_MOVED, why=str(failure))
            await self._wait(self._stopping, self._settings.keepalive_seconds)
        else:
            self._backoff.reset()
            self._pauses.clear(POLL)
            self._pauses.clear(OFFSETS)

    async def _back_off(self, reason: str, detail: str) -> None:
        self._pauses.begin(reason, detail)
        await self._wait(self._stopping, self._backoff.next_seconds())

    async def _on_unreadable(self, failure: PartitionUnavailable) -> None:
        partition = self._partitions.assigned.get(TopicPartition(failure.topic, failure.partition))
        if partition is not None and self._consumer is not None:
            await self._attempt(self._unreadable.hold(failure, partition, self._consumer))

    async def _on_unread_range(self, unread: UnreadRange) -> None:
        partition = self._partitions.assigned.get(TopicPartition(unread.topic, unread.partition))
        if partition is None or LOSS in partition.hold_reasons or self._consumer is None:
            await self._wait(self._stopping, self._settings.keepalive_seconds)
            return
        partition.hold_reasons.add(LOSS)
        self._spawn(
            report_unread(
                unread,
                partition,
                self._consumer,
                ports=self._ports,
                pauses=self._pauses,
            )
        )

    def _on_resume(self) -> None:
        self._pool.resume()
        self._buffer.can_read.set()

    async def _commit(self) -> None:
        if self._consumer is not None:
            await self._committer.commit(self._consumer, self._partitions.assigned)

    async def _wait(self, event: asyncio.Event, seconds: float) -> None:
        await wait_at_most(event, seconds, clock=self._ports.clock)

    def _new_partitions(self) -> PartitionAssignment:
        return PartitionAssignment(
            self._subscriptions,
            is_sharded=self._group.sharded,
            ports=self._ports,
            settings=self._settings,
            pauses=self._pauses,
            pool=self._pool,
            spawn=self._spawn,
            commit=self._commit,
            on_open=self._buffer.add_deferred,
            on_revoked=self._buffer.on_revoked,
        )

    def _new_error_policy(self) -> ErrorPolicy:
        return ErrorPolicy(
            ports=self._ports,
            settings=self._settings,
            pauses=self._pauses,
            pool=self._pool,
            spawn=self._spawn,
            on_fenced=self._partitions.on_fenced,
        )

    def _new_pipeline(self, codec: MessageCodec) -> Pipeline:
        return Pipeline(
            codec,
            self._group.group,
            ports=self._ports,
            settings=self._settings,
            pool=self._pool,
            on_done=self._buffer.on_done,
            error_policy=self._error_policy,
        )

    async def _guard(self, work: Coroutine[Any, Any, None]) -> None:
        """End the loop with the error: a client library may swallow what a listener raises."""
        try:
            await work
        except Exception as failure:
            self._spawn(_raise(failure))
            raise

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        assert self._tasks is not None, "the loop starts tasks only within `run`"
        task = self._tasks.create_task(work)
        self._helpers.add(task)
        task.add_done_callback(self._helpers.discard)
        return task


async def _raise(failure: Exception) -> None:
    raise failure
