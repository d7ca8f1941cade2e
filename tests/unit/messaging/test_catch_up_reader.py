"""Reading a topic up to its end, again and again."""

from __future__ import annotations

from strider.messaging.catch_up_reader import CatchUpReader
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus, simulate
from strider.messaging.ports import Consumer, OutgoingMessage, TopicPartition


class Topic:
    """One partition on a broker in memory, and what was read of it."""

    def __init__(self) -> None:
        self.broker = InProcessBroker(clock=EventLoopClock())
        self.broker.create_topic("t", 1)
        self.found: list[bytes | None] = []
        self.reader = CatchUpReader(
            InProcessBus(self.broker),
            "t",
            poll=self._poll,
            new_stall_detector=lambda: lambda has_come: not has_come,
        )

    def write(self, *values: bytes) -> None:
        for value in values:
            self.broker.append(OutgoingMessage("t", b"k", value, 0))

    def cut(self, end: int) -> None:
        log = self.broker.log(TopicPartition("t", 0))
        del log.records[end:]
        log.end = end

    async def _poll(self, reader: Consumer) -> bool:
        found = await reader.poll(max_records=10, timeout_seconds=0.1)
        self.found += [record.value for records in found.values() for record in records]
        return bool(found)


def test_each_read_continues_where_the_one_before_has_ended() -> None:
    async def scenario() -> None:
        topic = Topic()
        topic.write(b"1", b"2")
        await topic.reader.read_to_end()
        topic.write(b"3")
        await topic.reader.read_to_end()

        assert topic.found == [b"1", b"2", b"3"]

    simulate(scenario())


def test_a_reader_waits_for_nothing_between_reads() -> None:
    """A client of Kafka that waits for new records answers no question about the end for half a second."""

    async def scenario() -> None:
        topic = Topic()
        topic.write(b"1")
        await topic.reader.read_to_end()
        consumer = topic.reader._reader
        assert consumer is not None
        topic.write(b"2")
        idle = await consumer.poll(max_records=10, timeout_seconds=1.0)
        await topic.reader.read_to_end()

        assert (idle, topic.found) == ({}, [b"1", b"2"])
        assert topic.reader._reader is consumer

    simulate(scenario())


def test_a_log_that_became_shorter_is_read_again_from_its_beginning() -> None:
    """What was written to it since would be passed over, and count as absent: a schema, a crawl spec."""

    async def scenario() -> None:
        topic = Topic()
        topic.write(b"1", b"2", b"3", b"4")
        await topic.reader.read_to_end()
        topic.cut(1)
        topic.write(b"new")
        await topic.reader.read_to_end()

        assert topic.found == [b"1", b"2", b"3", b"4", b"1", b"new"]

    simulate(scenario())
