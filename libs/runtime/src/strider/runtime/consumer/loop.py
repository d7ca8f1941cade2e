"""The consumer loop: reads, hands to workers, commits; one for each group of a service.

Decides when to read and when not to. What a message goes through is `loop_stages`, who works is
`loop_pool`, what comes and goes is `loop_partitions`. It ends when it is told to stop, or with the
exception of whatever was not a message's fault; it knows no client library and no service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from strider.messaging.effects import Subscription
from strider.messaging.errors import OffsetLost, OffsetMissing, PartitionNotOwned, Unavailable
from strider.messaging.ports import Bus, Consumer, GroupSpec, TopicPartition
from strider.runtime.observability.logging import logger

from .buffer import MessageBuffer, subscriptions_by_topic
from .commits import OffsetCommitter
from .error_policy import ErrorPolicy
from .partitions import PartitionAssignment
from .pauses import Pauses, wait_at_most
from .pipeline import Pipeline
from .ports import MessageCodec
from .retention_loss import LOSS, report_loss
from .spec import ConsumerPorts, ConsumerSettings
from .worker_pool import WorkerPool

POLL = "poll"
OFFSETS = "offsets"

_log = logger("loop")


class ConsumerLoop:
    """Consumes the topics of one group and does what its handlers answer."""

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
        self._spec = group
        self._ports = ports
        self._settings = settings = settings or ConsumerSettings()
        self._subscriptions = subscriptions_by_topic(subscriptions, group)
        self._tasks: asyncio.TaskGroup | None = None
        self._stopping = asyncio.Event()
        self._consumer: Consumer | None = None
        self._failures = 0
        self._helpers: set[asyncio.Task[None]] = set()
        self._pauses = Pauses(ports.meter)
        self._pool = WorkerPool(ports=ports, settings=settings, pauses=self._pauses)
        self._pauses.set_resume_callback(self._on_resume)
        self._buffer = MessageBuffer(
            self._subscriptions, settings=settings, pauses=self._pauses, pool=self._pool
        )
        self._commits = OffsetCommitter(ports=ports, settings=settings, pauses=self._pauses)
        self._partitions = self._new_partitions()
        self._verdicts = self._new_error_policy()
        self._pipeline = self._new_pipeline(codec)
        self._partitions.report_waiting_for_group()

    @property
    def group(self) -> str:
        """Its consumer group."""
        return self._spec.group

    @property
    def last_activity(self) -> float:
        """Monotonic time of the last step of any message, or of a shard's take-over."""
        return max(self._pipeline.last_activity, self._partitions.last_activity)

    @property
    def paused_reasons(self) -> Mapping[str, str]:
        """Stated pauses, by one word each; empty while all goes well. Not ready while there is one."""
        return self._pauses.reasons

    @property
    def exempt_pauses(self) -> Mapping[str, str]:
        """Those of the stated pauses that the watchdog accepts as a reason why nothing moves."""
        return self._pauses.exempt_reasons

    @property
    def opening(self) -> int:
        """Shards that are being taken: work that waits, as messages do."""
        return self._partitions.opening

    @property
    def in_flight(self) -> int:
        """Messages read and not done."""
        return self._buffer.message_count

    @property
    def in_flight_bytes(self) -> int:
        """The same in bytes."""
        return self._buffer.size_bytes

    @property
    def running(self) -> int:
        """Messages that a worker is busy with."""
        return self._pool.running

    @property
    def lags(self) -> Mapping[TopicPartition, int]:
        """Messages from the first open one to the end, for each partition here, as of the last look."""
        held = self._partitions.assigned
        return {name: lag for name, lag in self._commits.lags.items() if name in held}

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that this member has now."""
        return frozenset(self._partitions.assigned)

    def request_stop(self) -> None:
        """Finish what is in hand, commit, leave the group; `run` then returns."""
        self._stopping.set()
        self._buffer.can_read.set()

    def reset_breaker(self) -> None:
        """Go on after the breaker has tripped: somebody has looked. (A restart does the same.)"""
        self._verdicts.reset_breaker()

    async def run(self) -> None:
        """Consume until told to stop. Raises what was not a message's fault."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                await self._live()
                for task in self._helpers:
                    task.cancel()
        except BaseExceptionGroup as failures:
            for also in failures.exceptions[1:]:
                _log.error("Further failure recorded", error=repr(also))
            raise failures.exceptions[0] from None
        finally:
            await self._pipeline.stop()
            if self._consumer is not None:
                await self._consumer.close()

    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """Take partitions (the consumer's listener)."""
        await self._guard(self._partitions.on_assigned(partitions))

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Give partitions back (the consumer's listener). Groups are eager: all of them at once."""
        await self._guard(self._partitions.on_revoked(partitions))

    async def _live(self) -> None:
        self._pool.start(self._spawn, self._pipeline.advance)
        while self._consumer is None and not self._stopping.is_set():
            await self._attempt(self._join())
        consumer = self._consumer
        if consumer is None:
            return
        while not self._stopping.is_set():
            await self._attempt(self._read(consumer))
            await asyncio.sleep(0)  # a bus that never waits must not keep the workers from working
            await self._commits.commit_due(consumer, self._partitions.assigned)
            await self._commits.measure_lag(consumer, self._partitions.assigned)
            self._partitions.check_fenced(self._spec.session_timeout_seconds)
        await self._partitions.revoke(self.assignment, timeout_seconds=self._settings.stop_timeout_seconds)

    async def _join(self) -> None:
        joining = asyncio.ensure_future(self._bus.consumer(self._spec, self))
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
        """Poll once: for messages where there is room, else only to stay a member."""
        intake = self._buffer
        if not intake.has_room():
            await self._wait(intake.can_read, self._settings.keepalive_seconds)
        has_room = intake.has_room()
        self._partitions.apply_pauses(consumer, is_full=not has_room)
        batches = await consumer.poll(
            max_records=intake.free_messages() if has_room else 1,
            timeout_seconds=self._settings.poll_seconds if has_room else 0.0,
        )
        intake.add(batches, self._partitions.assigned)
        self._ports.meter.in_flight(intake.message_count, intake.size_bytes, self._pool.running)

    async def _attempt(self, attempt: Coroutine[Any, Any, None]) -> None:
        """Make one attempt at what needs the broker; state what is wrong with it, and wait."""
        try:
            await attempt
        except Unavailable as failure:
            await self._rest(POLL, str(failure))
        except OffsetMissing as failure:
            await self._rest(OFFSETS, str(failure))
        except OffsetLost as lost:
            await self._on_lost(lost)
        except PartitionNotOwned as failure:
            # The group has moved on in the middle of it; the next poll begins with what is ours then.
            _log.info("Partitions moved", why=str(failure))
            await self._wait(self._stopping, self._settings.keepalive_seconds)
        else:
            self._failures = 0
            self._pauses.clear(POLL)
            self._pauses.clear(OFFSETS)

    async def _rest(self, reason: str, detail: str) -> None:
        self._pauses.begin(reason, detail)
        self._failures += 1
        seconds = self._settings.retry_policy.wait_seconds(self._failures, self._ports.chance)
        await self._wait(self._stopping, seconds or 0.0)

    async def _on_lost(self, lost: OffsetLost) -> None:
        partition = self._partitions.assigned.get(TopicPartition(lost.topic, lost.partition))
        if partition is None or LOSS in partition.hold_reasons or self._consumer is None:
            await self._wait(self._stopping, self._settings.keepalive_seconds)
            return
        partition.hold_reasons.add(LOSS)
        self._spawn(
            report_loss(
                lost,
                partition,
                self._consumer,
                ports=self._ports,
                settings=self._settings,
                pauses=self._pauses,
            )
        )

    def _on_resume(self) -> None:
        self._pool.resume()
        self._buffer.can_read.set()

    async def _commit(self) -> None:
        if self._consumer is not None:
            await self._commits.commit(self._consumer, self._partitions.assigned)

    async def _wait(self, event: asyncio.Event, seconds: float) -> None:
        await wait_at_most(event, seconds, clock=self._ports.clock)

    def _new_partitions(self) -> PartitionAssignment:
        return PartitionAssignment(
            self._subscriptions,
            is_sharded=self._spec.sharded,
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
            self._spec.group,
            ports=self._ports,
            settings=self._settings,
            pool=self._pool,
            on_done=self._buffer.on_done,
            error_policy=self._verdicts,
        )

    async def _guard(self, work: Coroutine[Any, Any, None]) -> None:
        """Let a failure of ours end the loop: a client library may swallow what a listener raises."""
        try:
            await work
        except Exception as failure:
            self._spawn(_raise(failure))
            raise

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        assert self._tasks is not None, "nothing runs before `run`"
        task = self._tasks.create_task(work)
        self._helpers.add(task)
        task.add_done_callback(self._helpers.discard)
        return task


async def _raise(failure: Exception) -> None:
    raise failure
