"""Durable cuts: a broker that is restored from its file is the broker as it was at that instant."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from strider.messaging.inprocess import (
    EventLoopClock,
    InProcessBroker,
    SnapshotError,
    SnapshotFile,
    SnapshotTaker,
    simulate,
)
from strider.messaging.ports import OutgoingMessage, RawRecord, TopicPartition

TABLE, NOTES = "table", "notes"
PLACE = TopicPartition(NOTES, 0)


def fresh() -> InProcessBroker:
    broker = InProcessBroker(clock=EventLoopClock())
    broker.create_topic(TABLE, 2)
    broker.create_topic(NOTES, 2)
    broker.start_group("readers", [NOTES])
    return broker


Table = dict[tuple[int, bytes], bytes]
"""By partition and key: a key has no order between partitions."""


def learn(table: Table, broker: InProcessBroker) -> Table:
    """Add to what is known of the table what a reader finds in memory now."""
    for log in broker.topic(TABLE).partitions:
        for record in log.committed_between(log.start, log.stable_end()):
            if record.value is None:
                table.pop((log.partition, record.key), None)
            else:
                table[log.partition, record.key] = record.value
    return table


def state(broker: InProcessBroker) -> dict[str, object]:
    """Give what a group can see: what is unread, who has committed what."""
    committed = dict(broker.group("readers").committed)
    unread = {
        place: [
            (record.offset, record.key, record.value, tuple(record.headers))
            for record in broker.log(place).committed_between(
                committed[place], broker.log(place).stable_end()
            )
        ]
        for place in committed
    }
    ends = {log.partition: log.stable_end() for log in broker.topic(NOTES).partitions}
    return {"committed": committed, "unread": unread, "ends": ends}


def play(broker: InProcessBroker, step: tuple[str, int]) -> None:
    """Do one thing that services do to a broker."""
    deed, number = step
    key = b"k%d" % (number % 5)
    if deed == "say":
        headers = (("h", bytes([number % 256])),)
        broker.append(OutgoingMessage(NOTES, key, b"note %d" % number, partition=number % 2, headers=headers))
    elif deed == "commit":
        place = TopicPartition(NOTES, number % 2)
        committed = broker.group("readers").committed
        committed[place] = min(broker.log(place).stable_end(), committed[place] + number % 3)
    elif deed == "keep":
        value = None if number % 4 == 0 else b"value %d" % number
        broker.append_raw(TopicPartition(TABLE, 0), [RawRecord(key, value)])
    elif deed == "transact":
        epoch = broker.transactions.initialise("owner")
        place = TopicPartition(TABLE, 1)
        broker.transactions.append("owner", place, RawRecord(key, b"in %d" % number), epoch=epoch, shard=1)
        if number % 3:
            broker.transactions.commit("owner", epoch=epoch, shard=1)


STEPS = st.lists(
    st.tuples(st.sampled_from(("say", "say", "commit", "keep", "transact", "cut")), st.integers(0, 40)),
    max_size=60,
)


@given(STEPS)
@example([("transact", 1), ("cut", 2), ("keep", 1)])
@settings(max_examples=30)
def test_a_restored_broker_is_the_broker_as_it_was_at_the_cut(tmp_path_factory, steps) -> None:
    """Whatever happened between cuts, and however often memory was freed after one."""
    path = tmp_path_factory.mktemp("cuts") / "state"

    async def program() -> None:
        broker = fresh()
        file, taker = SnapshotFile(path), SnapshotTaker(broker, compacted={TABLE})
        table: Table = {}
        for step in [*steps, ("cut", 0)]:
            play(broker, step)
            if step[0] != "cut":
                continue
            cut = taker.take({"length": "0"})
            file.write(cut)
            after = fresh()
            ends = file.restore(after)
            learn(table, broker)
            assert (learn({}, after), state(after)) == (table, state(broker))
            if step[1] % 2:  # the next cuts are taken from the restored one
                broker, taker = after, SnapshotTaker(after, compacted={TABLE})
                taker.start_after(ends)
            elif step[1] % 4:
                broker.trim_read(ends=cut.ends)
        file.close()

    simulate(program())


def test_what_was_kept_with_a_cut_comes_back_with_it(tmp_path) -> None:
    """The length of the output belongs to the same instant."""
    broker = fresh()
    file = SnapshotFile(tmp_path / "state")
    assert file.is_empty()
    file.write(SnapshotTaker(broker, compacted={TABLE}).take({"length": "17"}))
    file.close()

    again = SnapshotFile(tmp_path / "state")

    assert (again.is_empty(), again.caller_state()) == (False, {"length": "17"})
    again.close()


def test_epochs_continue_after_a_restart(tmp_path) -> None:
    """A shard's epoch is part of lease ids: none may be given twice."""
    broker = fresh()
    broker.transactions.initialise("owner")
    file = SnapshotFile(tmp_path / "state")
    file.write(SnapshotTaker(broker, compacted={TABLE}).take({}))

    after = fresh()
    file.restore(after)

    assert after.transactions.initialise("owner") == 1
    file.close()


def test_a_second_process_is_refused(tmp_path) -> None:
    """Two crawls that write one file would each lose what the other has."""
    file = SnapshotFile(tmp_path / "state")

    with pytest.raises(SnapshotError, match="in use by another process"):
        SnapshotFile(tmp_path / "state")

    file.close()


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be looked at" * 20, None])
def test_a_foreign_file_is_refused_and_left_alone(tmp_path, content) -> None:
    """A slip on the command line must not cost a file."""
    path = tmp_path / "state"
    if content is None:
        with sqlite3.connect(path) as base:
            base.execute("CREATE TABLE mine (x)")
        base.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()

    with pytest.raises(SnapshotError):
        SnapshotFile(path)

    assert path.read_bytes()[:4096] == before[:4096]


def test_a_file_of_other_topics_is_refused(tmp_path) -> None:
    """Another number of shards would hand hosts to other owners."""
    broker = fresh()
    file = SnapshotFile(tmp_path / "state")
    file.write(SnapshotTaker(broker, compacted={TABLE}).take({}))
    small = InProcessBroker(clock=EventLoopClock())
    small.create_topic(TABLE, 1)

    with pytest.raises(SnapshotError, match="does not exist here"):
        file.restore(small)

    file.close()
