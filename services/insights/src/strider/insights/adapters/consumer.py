"""Extend Faust's consumer: contiguous commits, rereading, loss reports, schemas.

Faust reads for a moment before it seeks to the group's offset, takes what it has read for a gap then, and has
it twice among the acknowledged offsets. Its own search for the offset to commit stops at every duplicate, so
that it commits one message in some seconds: a process that is killed then reads hours again.

Messages that retention deleted unread it skips silently, and commits behind them only once another message
has arrived: a partition without new messages would show a lag for ever.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from faust.transport.drivers.aiokafka import Consumer
from faust.types.tuples import TP

from strider.contracts import UnknownSchema
from strider.insights import log_events
from strider.insights.settings import InsightsSettings
from strider.messaging.errors import UnreadBatch
from strider.messaging.kafka.patches.safe_decompression import begin_client_poll, pop_unpacking_failure
from strider.messaging.ports import TopicPartition
from strider.messaging.schema_topic import SchemaFinder
from strider.runtime.observability import log_events as runtime_events
from strider.runtime.observability.logging import logger
from strider.runtime.process.consumers import open_schema_registry
from strider.runtime.process.main import ServiceContext
from strider.runtime.process.startup import StartupRetry

from .read_position import ReadDecision, ReadPositions


class SchemaLookup:
    """Looks up schemas in the schema topic and the registry, waiting for these where they are unavailable."""

    def __init__(self, process: ServiceContext[InsightsSettings]) -> None:
        self._registry = open_schema_registry(process.settings.registry)
        self._finder = SchemaFinder(process.bus, codec=process.codec, registry=self._registry)
        self._patience = StartupRetry(process.readiness, clock=process.clock, chance=process.chance)

    async def find(self, *unknown: UnknownSchema) -> bool:
        """Look up schemas; return True where decoding the message may succeed now."""
        return await self._patience.run(lambda: self._finder.find(*unknown))

    async def close(self) -> None:
        """Close the clients."""
        await self._finder.close()
        if self._registry is not None:
            await self._registry.close()


_log = logger("insights")


@dataclass(frozen=True, slots=True)
class RetentionGap:
    """Messages that retention deleted: where reading was to continue, and where the log starts now."""

    partition: TopicPartition
    expected: int | None
    """None for a group that has never read here, which has lost nothing."""
    first_available: int


OnRetentionGap: TypeAlias = Callable[[RetentionGap], None]


def contiguous_end(
    acked: Collection[int], gaps: Sequence[tuple[int, int]], *, committed: int | None
) -> int | None:
    """Return the offset to commit; None where nothing follows the committed one.

    A gap (from, to exclusive) never held a message: retention deleted it, or it was a marker. One that
    follows the committed offset comes without its first number.
    """
    if not acked:
        return None
    first = end = min(acked) if committed is None else committed
    while True:
        jumps = (to for begin, to in gaps if begin <= end < to or end == committed == begin - 1)
        if end in acked:
            end += 1
        elif (jump := next(jumps, None)) is not None:
            end = jump
        else:
            return end if end > first else None


def find_retention_gaps(committed: Mapping[Any, int | None], begins: Mapping[Any, int]) -> list[RetentionGap]:
    """Return the partitions whose log starts behind the committed offset."""
    return [
        RetentionGap(TopicPartition(*tp), committed[tp], begin)
        for tp, begin in begins.items()
        if begin > (committed[tp] or 0)
    ]


def start_offset(committed: int | None, begin: int) -> int:
    """Return where reading starts: at the log's start for a group that has never committed here.

    Without it the first message that arrives would pass for the first of the log, though Faust may have
    dropped others before it.
    """
    return begin if committed is None or committed < 0 else committed


class ContiguousConsumer(Consumer):
    """Commits contiguously, rereads skipped messages, and reports what retention deleted."""

    def __init__(self, *arguments: Any, on_retention_gap: OnRetentionGap, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._on_retention_gap = on_retention_gap
        self._positions: ReadPositions[Any] = ReadPositions()

    async def getmany(self, timeout: float) -> AsyncIterator[Any]:  # noqa: ASYNC109  # Faust's shape
        """Yield the next messages of each partition; seek back where some were skipped."""
        await self._skip_unreadable()
        begin_client_poll(self._thread._consumer)  # noqa: SLF001  # Faust has no accessor
        self._positions.start_poll()
        async for tp, message in super().getmany(timeout):
            if not self.app.topics.acks_enabled_for(tp.topic):
                yield tp, message
                continue
            decision = self._positions.decide(tp, message.offset)
            if decision is ReadDecision.ACCEPT:
                yield tp, message
            elif decision is ReadDecision.SEEK_BACK:
                await self._seek_back(tp, self._positions.expected_offset(tp))

    async def _skip_unreadable(self) -> None:
        """Report a record batch that is skipped, and continue behind it; raise any other failure."""
        failure = pop_unpacking_failure(self._thread._consumer)  # noqa: SLF001  # Faust has no accessor
        if failure is None:
            return
        if not isinstance(failure, UnreadBatch):
            raise failure
        tp = TP(failure.topic, failure.partition)
        _log.emit(
            runtime_events.RECORD_BATCH_SKIPPED,
            topic=tp.topic,
            partition=tp.partition,
            lost_from=failure.first,
            lost_to=failure.last,
            messages=failure.messages,
            codec=failure.codec,
            compressed_bytes=failure.compressed_bytes,
            why=failure.why,
        )
        self._on_retention_gap(RetentionGap(TopicPartition(*tp), failure.first, failure.resume_at))
        self._positions.advance(tp, failure.resume_at)
        # As if its last message had been counted: else it is committed only with the next message.
        if failure.first < failure.last:
            await self._add_gap(tp, failure.first, failure.last)
        self._acked[tp].append(failure.last)
        self._acked_index[tp].add(failure.last)
        await self.seek(tp, failure.resume_at)

    async def reread_skipped(self) -> None:
        """Seek back to skipped messages that no later message would reveal."""
        for tp in self.assignment():
            if self.app.topics.acks_enabled_for(tp.topic):
                position = await self._thread.position(tp)
                await self._seek_back(tp, self._positions.skipped_offset(tp, position or 0))

    async def _seek_back(self, tp: Any, offset: int | None) -> None:
        if offset is not None:
            _log.emit(
                log_events.SKIPPED_MESSAGES_READ_AGAIN, topic=tp.topic, partition=tp.partition, offset=offset
            )
            await self.seek(tp, offset)

    async def seek_to_committed(self) -> Mapping[Any, Any]:
        """Seek to the committed offsets; where the log starts later, report it and commit its start."""
        committed = await super().seek_to_committed()
        read = [tp for tp in committed if self.app.topics.acks_enabled_for(tp.topic)]
        begins = await self.earliest_offsets(*read)
        gaps = find_retention_gaps(committed, begins)
        for gap in gaps:
            self._on_retention_gap(gap)
        passed = {TP(*gap.partition): gap.first_available for gap in gaps}
        if passed:
            await self._commit(passed)
        found = {**committed, **passed}
        self._positions.reset({tp: start_offset(found[tp], begins.get(tp, 0)) for tp in read})
        return found

    def _new_offset(self, tp: Any) -> int | None:
        acked, gaps = self._acked_index[tp], self._gap[tp]
        end = contiguous_end(
            acked, [(gap.begin, gap.end) for gap in gaps], committed=self._committed_offset[tp]
        )
        if end is not None:
            rest = sorted(offset for offset in acked if offset >= end)
            self._acked[tp][:] = rest
            self._acked_index[tp] = set(rest)
            gaps.chop(0, end)
        return end
