"""Producers in memory: order, delays, bounds, and the one writer of a shard."""

from __future__ import annotations

import asyncio

import pytest

from strider.contracts import EncodeError
from strider.messaging.errors import InfrastructureError, ShardFenced, Unavailable
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus, simulate
from strider.messaging.inprocess.transactions import TRANSACTION_TIMEOUT_SECONDS
from strider.messaging.ports import GroupSpec, OutgoingMessage, RawRecord, TopicPartition
from strider.runtime.clocks import SeededRandomness
from tests.unit.runtime.consumer.loop_harness import a_topic

NOTES = TopicPartition("notes", 0)


def _world(*, max_bytes: int | None = None, partitions: int = 1) -> tuple[InProcessBroker, InProcessBus]:
    broker = InProcessBroker(clock=EventLoopClock())
    broker.create_topic("notes", partitions, max_bytes=max_bytes)
    return broker, InProcessBus(broker)


def _values(broker: InProcessBroker, *, read_committed: bool = True) -> list[bytes | None]:
    return [r.value for r in broker.log(NOTES).read(0, 10_000, read_committed=read_committed)[0]]


def test_messages_without_a_key_are_spread_over_partitions() -> None:
    async def scenario() -> None:
        broker, bus = _world(partitions=3)
        producer = await bus.producer()
        where = [await (await producer.send(OutgoingMessage("notes", None, b"v"))) for _ in range(4)]

        assert [each.partition for each in where] == [0, 1, 2, 0]
        assert [each.offset for each in where] == [0, 0, 0, 1]
        assert broker.log(NOTES).end == 2

    simulate(scenario())


def test_delays_keep_the_order_and_a_seed_repeats_them() -> None:
    async def scenario() -> list[float]:
        broker, _ = _world()
        bus = InProcessBus(broker, chance=SeededRandomness(7), ack_seconds=(0.1, 3.0))
        producer = await bus.producer()
        moments = []
        acknowledgements = [await producer.send(OutgoingMessage("notes", None, b"%d" % n)) for n in range(20)]
        early = _values(broker)
        for acknowledgement in acknowledgements:
            await acknowledgement
            moments.append(broker.clock.monotonic())
        await producer.close()

        assert early == []
        assert _values(broker) == [b"%d" % n for n in range(20)]
        return moments

    assert simulate(scenario()) == simulate(scenario())


def test_a_failing_broker_leaves_the_sender_in_doubt() -> None:
    """Some messages were written, some were not, and their senders cannot know: as on a real network."""

    async def scenario() -> None:
        broker, _ = _world()
        bus = InProcessBus(broker, chance=SeededRandomness(3), ack_seconds=(0.0, 4.0))
        producer = await bus.producer()
        acknowledgements = []
        for _ in range(40):
            acknowledgements.append(await producer.send(OutgoingMessage("notes", None, b"v")))
            await asyncio.sleep(0.1)
        broker.set_unavailable("gone")
        answers = await asyncio.gather(*acknowledgements, return_exceptions=True)
        acknowledged = sum(not isinstance(answer, Exception) for answer in answers)

        assert 0 < acknowledged < len(_values(broker)) < 40
        assert {type(answer) for answer in answers if isinstance(answer, Exception)} == {Unavailable}

    simulate(scenario())


def test_a_full_topic_holds_its_senders_up_until_it_was_read() -> None:
    async def scenario() -> None:
        broker, bus = _world(max_bytes=1_500)
        broker.start_group("readers", ["notes"])
        producer = await bus.producer()
        sent: list[int] = []

        async def send() -> None:
            for number in range(20):
                await producer.send(OutgoingMessage("notes", None, b"x" * 380))
                sent.append(number)

        sending = asyncio.create_task(send())
        await asyncio.sleep(10)
        held_up = len(sent)
        consumer = await bus.consumer(GroupSpec("readers", ("notes",)), _Quiet())
        while not sending.done():
            found = await consumer.poll(max_records=1, timeout_seconds=1)
            await consumer.commit({tp: records[-1].offset + 1 for tp, records in found.items()})
            await asyncio.sleep(0.1)

            assert broker.topic("notes").size_bytes() <= 1_500
        await sending

        assert (held_up, len(sent)) == (3, 20)

    simulate(scenario())


def test_a_message_larger_than_the_bound_passes_alone() -> None:
    async def scenario() -> None:
        broker, bus = _world(max_bytes=100)
        producer = await bus.producer()
        await producer.send(OutgoingMessage("notes", None, b"x" * 1_000))

        assert broker.log(NOTES).end == 1

    simulate(scenario())


class _Quiet:
    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Nothing to give back."""

    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """Nothing to prepare."""


def test_a_closed_producer_sends_nothing() -> None:
    async def scenario() -> None:
        _, bus = _world()
        producer = await bus.producer()
        await producer.close()
        with pytest.raises(InfrastructureError, match="closed"):
            await producer.send(OutgoingMessage("notes", None, b"v"))

    simulate(scenario())


@pytest.mark.parametrize(
    ("topic", "partition"),
    [pytest.param("missing", None, id="topic"), pytest.param("notes", 9, id="partition")],
)
def test_a_place_that_does_not_exist_is_an_outage(topic: str, partition: int | None) -> None:
    """It may be on its way; its users wait, as on a real broker."""

    async def scenario() -> None:
        _, bus = _world()
        producer = await bus.producer()
        with pytest.raises(Unavailable):
            await producer.send(OutgoingMessage(topic, None, b"v", partition))

    simulate(scenario())


def test_a_group_commit_ends_for_all_at_its_interval() -> None:
    async def scenario() -> None:
        broker, bus = _world()
        writer = await bus.take_shard("frontier", 4, commit_interval_seconds=0.25)
        waiting = [writer.append("notes", 0, RawRecord(b"k", b"%d" % n)) for n in range(3)]
        await asyncio.sleep(0.2)
        before = _values(broker)
        for each in waiting:
            await each

        assert (before, _values(broker)) == ([], [b"0", b"1", b"2"])
        assert broker.clock.monotonic() == pytest.approx(0.25)
        assert (writer.shard, writer.epoch) == (4, 0)

    simulate(scenario())


def test_giving_up_waiting_does_not_end_the_commit_for_others() -> None:
    async def scenario() -> None:
        broker, bus = _world()
        writer = await bus.take_shard("frontier", 0)

        async def wait(record: RawRecord) -> None:
            await writer.append("notes", 0, record)

        impatient, patient = (asyncio.create_task(wait(RawRecord(None, value))) for value in (b"1", b"2"))
        await asyncio.sleep(0.1)
        impatient.cancel()
        await patient

        assert _values(broker) == [b"1", b"2"]

    simulate(scenario())


def test_taking_a_shard_fences_its_owner_for_good() -> None:
    async def scenario() -> None:
        broker, bus = _world()
        old = await bus.take_shard("frontier", 0)
        open_still = old.append("notes", 0, RawRecord(None, b"old"))
        new = await bus.take_shard("frontier", 0)
        with pytest.raises(ShardFenced):
            await open_still
        with pytest.raises(ShardFenced):
            await old.append("notes", 0, RawRecord(None, b"older"))
        with pytest.raises(ShardFenced):
            await old.flush()
        await old.close()
        done = new.append("notes", 0, RawRecord(None, b"new"))
        await new.flush()
        await done

        assert (old.epoch, new.epoch) == (0, 1)
        assert _values(broker) == [b"new"]

    simulate(scenario())


def test_a_killed_owner_hides_what_comes_behind_it_only_for_a_while() -> None:
    async def scenario() -> None:
        broker, bus = _world()
        writer = await bus.take_shard("frontier", 0)
        writer.append("notes", 0, RawRecord(None, b"torn"))
        writer.kill()
        broker.append(OutgoingMessage("notes", None, b"behind", 0))
        reader = await bus.reader([NOTES])
        before = await reader.poll(max_records=9, timeout_seconds=1)
        await asyncio.sleep(TRANSACTION_TIMEOUT_SECONDS)
        after = await reader.poll(max_records=9, timeout_seconds=1)

        assert before == {}
        assert [record.value for record in after[NOTES]] == [b"behind"]

    simulate(scenario())


def test_a_commit_without_a_response_leaves_no_partial_group() -> None:
    """What failed is not carried along by the next commit: who wrote it will write it again."""

    async def scenario() -> None:
        broker, bus = _world()
        writer = await bus.take_shard("frontier", 0)
        failed = writer.append("notes", 0, RawRecord(None, b"first"))
        broker.set_unavailable("gone")
        with pytest.raises(Unavailable):
            await failed
        broker.set_available()
        await writer.append("notes", 0, RawRecord(None, b"again"))

        assert _values(broker) == [b"again"]

    simulate(scenario())


def test_closing_commits_what_is_open() -> None:
    async def scenario() -> None:
        broker, bus = _world()
        writer = await bus.take_shard("frontier", 0)
        done = writer.append("notes", 0, RawRecord(None, b"last"))
        await writer.close()
        await done
        with pytest.raises(InfrastructureError, match="closed"):
            await writer.append("notes", 0, RawRecord(None, b"late"))

        assert _values(broker) == [b"last"]

    simulate(scenario())


@pytest.mark.parametrize(
    ("config", "shards", "partitions", "most_bytes"),
    [
        pytest.param({"max.message.bytes": "2000"}, None, 6, 2_000, id="by shard, small messages"),
        pytest.param({"max.message.bytes": "9000000"}, 2, 2, 1_047_552, id="more than is ever sent"),
        pytest.param({}, 1, 1, 1_047_552, id="empty"),
    ],
)
def test_a_declared_topic_has_its_partitions_and_its_limit(
    config: dict[str, str], shards: int | None, partitions: int, most_bytes: int
) -> None:
    async def scenario() -> None:
        broker = InProcessBroker(clock=EventLoopClock())
        topic = a_topic("declared", partitions=shards, config=config)
        broker.declare_topic(topic, shards=6)
        producer = await InProcessBus(broker).producer()
        room = most_bytes - 96 - len(b"k") - len("h") - len(b"1")
        headers = (("h", b"1"),)
        await (await producer.send(OutgoingMessage("declared", b"k", b"x" * room, headers=headers)))
        with pytest.raises(EncodeError, match=f"over the limit of {most_bytes}"):
            await producer.send(OutgoingMessage("declared", b"k", b"x" * (room + 1), headers=headers))

        assert broker.partition_count("declared") == partitions

    simulate(scenario())
