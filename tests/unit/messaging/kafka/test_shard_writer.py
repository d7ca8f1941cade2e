"""When a shard's writer commits, and what it takes while a commit does not come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from strider.contracts import EncodeError
from strider.messaging.errors import InfrastructureError, Unavailable
from strider.messaging.kafka import KafkaConnection, KafkaShardWriter
from strider.messaging.kafka import shard_writer as shards
from strider.messaging.kafka.shard_writer import CommitGroup
from strider.messaging.kafka.transactions import NO_SESSION, ProducerSession
from strider.messaging.ports import RawRecord

SETTINGS = KafkaConnection(("nowhere:9",), batch_bytes=1_000_000)
MEGABYTE = b"x" * 1_000_000


class LibraryBatch:
    def __init__(self) -> None:
        self.records: list[bytes | None] = []

    def append(self, *, timestamp: int | None, key: bytes | None, value: bytes | None) -> object | None:
        if self.records:
            return None  # one record fills it
        self.records.append(key)
        return object()

    def close(self) -> None: ...


class LibraryProducer:
    """As much of the library's producer as the writer touches; commits when it is let."""

    def __init__(self) -> None:
        self.sent: list[list[bytes | None]] = []
        self.commits = 0
        self.may_commit = asyncio.Event()

    def create_batch(self) -> LibraryBatch:
        return LibraryBatch()

    async def partitions_for(self, _topic: str) -> set[int]:
        return {0, 1}

    async def begin_transaction(self) -> None:
        self.sent.append([])

    async def send_batch(self, batch: LibraryBatch, _topic: str, *, partition: int) -> asyncio.Future[None]:
        self.sent[-1] += batch.records
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def commit_transaction(self) -> None:
        await self.may_commit.wait()
        self.commits += 1


@pytest.fixture
def producer() -> LibraryProducer:
    return LibraryProducer()


@pytest.fixture
async def writer(producer: LibraryProducer) -> AsyncIterator[KafkaShardWriter]:
    made = KafkaShardWriter(SETTINGS, "shards-0", shard=0, commit_interval_seconds=3600)
    made._client = producer
    running = asyncio.create_task(made._run())
    yield made
    running.cancel()
    await asyncio.wait([running])


async def test_a_group_that_is_large_does_not_wait_for_its_interval(
    writer: KafkaShardWriter, producer: LibraryProducer
) -> None:
    producer.may_commit.set()
    appended = [writer.append("t", 0, RawRecord(b"%d" % n, MEGABYTE)) for n in range(5)]
    await asyncio.wait_for(asyncio.gather(*appended), 1)
    assert producer.sent == [[b"0", b"1", b"2", b"3", b"4"]]


async def test_what_comes_during_a_commit_is_the_next_group(
    writer: KafkaShardWriter, producer: LibraryProducer
) -> None:
    first = asyncio.ensure_future(writer.append("t", 0, RawRecord(b"first", b"v")))
    flushing = asyncio.create_task(writer.flush())
    await asyncio.sleep(0.01)
    second = asyncio.ensure_future(writer.append("t", 1, RawRecord(b"second", b"v")))
    assert (producer.sent, first.done()) == ([[b"first"]], False)
    producer.may_commit.set()
    await flushing
    await first
    assert not second.done()
    await writer.flush()
    await second
    assert (producer.sent, producer.commits) == ([[b"first"], [b"second"]], 2)


async def test_memory_does_not_follow_an_outage(writer: KafkaShardWriter, producer: LibraryProducer) -> None:
    """Appends while a commit hangs are refused before the process is out of memory."""
    writer.append("t", 0, RawRecord(b"k", b"v"))
    flushing = asyncio.create_task(writer.flush())
    await asyncio.sleep(0.01)
    taken = [writer.append("t", 0, RawRecord(b"%d" % n, MEGABYTE)) for n in range(40)]
    with pytest.raises(Unavailable, match="wait for a commit"):
        await taken[-1]
    producer.may_commit.set()
    await flushing
    await asyncio.wait_for(taken[0], 1)
    assert 30 < sum(len(keys) for keys in producer.sent[1:]) < 40


async def test_a_record_over_the_limit_never_gets_into_a_group(writer: KafkaShardWriter) -> None:
    with pytest.raises(EncodeError, match="limit"):
        writer.append("t", 0, RawRecord(b"k", b"x" * 1_100_000))


async def test_closed_means_closed(writer: KafkaShardWriter) -> None:
    writer._is_closing = True
    with pytest.raises(InfrastructureError, match="closed"):
        await writer.append("t", 0, RawRecord(b"k", b"v"))


class Opening:
    """Sessions that are opened, or not, as the test has them."""

    def __init__(self, *answers: Exception | tuple[LibraryProducer, ProducerSession]) -> None:
        self._answers = list(answers)

    async def __call__(self, _held: ProducerSession) -> tuple[LibraryProducer, ProducerSession]:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_writer_that_cannot_renew_its_session_reports_why_and_retries(
    writer: KafkaShardWriter, producer: LibraryProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for an unforeseen error: a writer that dies unseen would be waited for without a reason."""
    fresh = LibraryProducer()
    fresh.may_commit.set()

    async def lose_the_outcome() -> None:
        raise OSError("connection reset")

    async def close(_client: object, *, within_seconds: float) -> None:
        """The library's own producer needs no closing here."""

    producer.commit_transaction = lose_the_outcome  # type: ignore[method-assign]
    monkeypatch.setattr(shards.insides, "close_producer", close)
    monkeypatch.setattr(shards, "_RENEW_RETRY_SECONDS", 0.05)
    writer._new_session = Opening(
        KeyError("bug"), Unavailable("kafka", "gone"), (fresh, ProducerSession(1, 1))
    )  # type: ignore[assignment, method-assign]
    with pytest.raises(Unavailable, match="not known to have happened"):
        await _said(writer, b"first")
    with pytest.raises(Unavailable, match="cannot be taken again: KeyError"):
        await _said(writer, b"second")
    async with asyncio.timeout(10):
        while writer._failure is not None:
            await asyncio.sleep(0.01)
    await _said(writer, b"third")
    assert (fresh.sent, fresh.commits) == ([[b"third"]], 1)


async def test_a_group_that_cannot_be_checked_fails_and_the_next_is_taken(
    writer: KafkaShardWriter, producer: LibraryProducer
) -> None:
    known = producer.partitions_for

    async def broken(_topic: str) -> set[int]:
        producer.partitions_for = known  # type: ignore[method-assign]
        raise AttributeError("no such thing")

    producer.partitions_for = broken  # type: ignore[method-assign]
    producer.may_commit.set()
    with pytest.raises(InfrastructureError, match="no such thing"):
        await _said(writer, b"first")
    await _said(writer, b"second")
    assert producer.sent == [[b"second"]]


async def _said(writer: KafkaShardWriter, key: bytes) -> None:
    appended = asyncio.ensure_future(writer.append("t", 0, RawRecord(key, b"v")))
    await asyncio.wait_for(asyncio.gather(appended, writer.flush()), 5)


async def test_a_group_without_waiters_may_fail_silently() -> None:
    """Later callers get it all the same, as often as they ask."""
    group = CommitGroup()
    group.fail(Unavailable("kafka", "gone"))
    group.succeed()
    for _ in range(2):
        with pytest.raises(Unavailable):
            await group


def test_epochs_grow_over_producer_ids() -> None:
    """A transactional id that was forgotten comes back at epoch 0, of a newer producer id."""
    sessions = [
        ProducerSession(3, 0),
        ProducerSession(3, 1),
        ProducerSession(3, 32766),
        ProducerSession(4, 0),
        ProducerSession(1000, 5),
    ]
    epochs = [session.epoch for session in sessions]
    assert epochs == sorted(epochs)
    assert epochs[1] == epochs[0] + 1
    assert max(ProducerSession(2**36, 32767).epoch, 0) < 2**53
    assert NO_SESSION.epoch < 0


async def test_a_record_after_a_quiet_time_does_not_wait_for_the_interval(
    writer: KafkaShardWriter, producer: LibraryProducer
) -> None:
    """One URL alone must not wait at each of its steps; what follows closely goes together."""
    producer.may_commit.set()
    await asyncio.wait_for(asyncio.ensure_future(writer.append("t", 0, RawRecord(b"first", b"v"))), 1)
    waiting = writer.append("t", 0, RawRecord(b"second", b"v"))
    writer.append("t", 0, RawRecord(b"third", b"v"))
    await asyncio.sleep(0.01)
    assert producer.sent == [[b"first"]]
    await writer.flush()
    await waiting
    assert producer.sent[1:] in ([[b"second"], [b"third"]], [[b"second", b"third"]])
