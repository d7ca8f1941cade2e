"""What a rebuild does when the log does not continue: the rest is shown on both buses in tests/contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import pytest

from strider.messaging.compacted_table import CompactedTableReader, TableReadProgress
from strider.messaging.errors import LogTruncated, OffsetLost, Unavailable
from strider.messaging.ports import Bus, Consumer, Record, TopicPartition

PARTITION = TopicPartition("t", 0)


class SteppedClock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class StubReader:
    """A reader of one partition with scripted polls, each of which takes a virtual second."""

    def __init__(self, clock: SteppedClock, *, begin: int, end: int, polls: list[int | Exception]) -> None:
        self.is_closed = False
        self._clock = clock
        self._begin = begin
        self._end = end
        self._position = begin
        self._polls = polls

    async def begin_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(partitions, self._begin)

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(partitions, self._end)

    async def poll(
        self, *, max_records: int, timeout_seconds: float
    ) -> Mapping[TopicPartition, Sequence[Record]]:
        """Step over so many offsets without a record, or raise."""
        await self._clock.sleep(timeout_seconds)
        step = self._polls.pop(0) if self._polls else 0
        if isinstance(step, Exception):
            raise step
        self._position += step
        return {}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._position = offset

    def pause(self, partitions: Iterable[TopicPartition]) -> None: ...

    async def position(self, partition: TopicPartition) -> int:
        return self._position

    async def close(self) -> None:
        self.is_closed = True


class StubBus:
    def __init__(self, reader: StubReader) -> None:
        self._reader = reader

    async def reader(self, partitions: Iterable[TopicPartition], *, read_committed: bool = True) -> Consumer:
        return self._reader  # type: ignore[return-value]


async def rebuild(reader: StubReader, clock: SteppedClock) -> TableReadProgress:
    bus: Bus = StubBus(reader)  # type: ignore[assignment]
    return await CompactedTableReader(bus, clock=clock, stall_seconds=10).read(
        [PARTITION], lambda _k, _v: None
    )


async def test_a_log_that_stands_still_is_an_outage_and_no_hang() -> None:
    """No person watches a rebuild: it has to end by itself."""
    clock = SteppedClock()
    reader = StubReader(clock, begin=0, end=5, polls=[2])
    with pytest.raises(Unavailable, match="has stalled at offset 2 of 5"):
        await rebuild(reader, clock)
    assert clock.monotonic() == 12
    assert reader.is_closed


async def test_a_slow_log_that_moves_is_read_to_its_end() -> None:
    """Ten offsets that compaction has emptied, one each nine seconds: slow, but not standing still."""
    clock = SteppedClock()
    polls: list[int | Exception] = [0, 0, 0, 0, 0, 0, 0, 0, 1] * 10
    reader = StubReader(clock, begin=0, end=10, polls=polls)
    assert await rebuild(reader, clock) == TableReadProgress(0, 10, 10)
    assert clock.monotonic() == 90


async def test_what_was_cut_off_is_stepped_over() -> None:
    clock = SteppedClock()
    lost = OffsetLost("t", 0, wanted=3, available=8)
    reader = StubReader(clock, begin=0, end=10, polls=[3, lost, 2])
    assert (await rebuild(reader, clock)).offset == 10


async def test_a_log_cut_beyond_the_end_ends_there() -> None:
    """All of it has gone, and more was written since."""
    clock = SteppedClock()
    reader = StubReader(clock, begin=0, end=10, polls=[OffsetLost("t", 0, wanted=0, available=50)])
    result = await rebuild(reader, clock)
    assert (result.records, result.offset, result.end) == (0, 10, 10)


async def test_a_log_that_loses_its_tail_while_it_is_read_is_no_table() -> None:
    """The caller reads it again: what was passed on may be gone."""
    clock = SteppedClock()
    cut = LogTruncated("t", 0, wanted=3, end=2, resume_at=2)
    reader = StubReader(clock, begin=0, end=10, polls=[3, cut])
    with pytest.raises(Unavailable, match=r"t\[0\]: the log was read up to offset 2 and ends at 2 now"):
        await rebuild(reader, clock)
    assert reader.is_closed


async def test_a_failure_of_the_callback_closes_the_reader() -> None:
    clock = SteppedClock()
    reader = StubReader(clock, begin=0, end=10, polls=[KeyError("a bug")])
    with pytest.raises(KeyError):
        await rebuild(reader, clock)
    assert reader.is_closed


async def test_nothing_to_read_is_done_at_once() -> None:
    clock = SteppedClock()
    reader = StubReader(clock, begin=7, end=7, polls=[])
    assert await rebuild(reader, clock) == TableReadProgress(0, 0, 0)
    assert clock.monotonic() == 0
