"""A real broker comes to have what is declared, and keeps what it has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.structs import TopicPartition as LibraryPlace

from strider.contracts import TOPICS, Topic
from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.kafka import KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.messaging.topics import TopicApplyReport, TopicPlan, apply_topics, compare_topics
from strider.messaging.topics.admin import TopicAdmin

Topics = tuple[Topic[Any], ...]
SHARDS = 3


async def apply(connection: KafkaConnection, topics: Topics, **options: Any) -> TopicApplyReport:
    return await apply_topics(connection, topics, **{"shards": SHARDS} | options)


async def committed(connection: KafkaConnection, group: str) -> Mapping[TopicPartition, int]:
    async with TopicAdmin.open(connection) as broker:
        return await broker.committed(group)


@asynccontextmanager
async def a_member(connection: KafkaConnection, group: str, topic: str) -> AsyncIterator[Any]:
    """Join a group as a service would, and leave it."""
    member = AIOKafkaConsumer(
        topic, group_id=group, enable_auto_commit=False, **connection.client_arguments()
    )
    await member.start()
    try:
        yield member
    finally:
        await member.stop()


def groups_of(topics: Topics) -> set[str]:
    return {reader.group for topic in topics for reader in topic.read_by if reader.group}


async def test_what_is_missing_is_created_with_offsets_for_every_group(
    connection: KafkaConnection, topics: Topics
) -> None:
    """Consumers have no offset reset, so a group without offsets could not begin at all."""
    report = await apply(connection, topics)

    assert {topic.name for topic in report.plan.create} == {topic.name for topic in topics}
    assert report.is_complete
    assert set(report.offsets) == groups_of(topics)
    for group in groups_of(topics):
        read = [topic.name for topic in topics if group in {reader.group for reader in topic.read_by}]
        assert await committed(connection, group) == {
            TopicPartition(name, number): 0 for name in read for number in range(SHARDS)
        }


async def test_a_second_time_changes_nothing(connection: KafkaConnection, topics: Topics) -> None:
    await apply(connection, topics)

    report = await apply(connection, topics)
    plan, lacking = await compare_topics(connection, topics, shards=SHARDS)

    assert (report.plan.has_drift, report.offsets, report.busy) == (False, {}, {})
    assert (plan.has_drift, lacking) == (False, {})


async def test_two_at_once_do_no_harm(connection: KafkaConnection, topics: Topics) -> None:
    """Two `strider up` may run into each other, and a deployment may start with several replicas."""
    reports = await asyncio.gather(*(apply(connection, topics) for _ in range(3)))
    plan, lacking = await compare_topics(connection, topics, shards=SHARDS)

    assert all(report.is_complete for report in reports)
    assert (plan.has_drift, lacking) == (False, {})


async def test_comparing_touches_nothing(connection: KafkaConnection, topics: Topics) -> None:
    plan, lacking = await compare_topics(connection, topics, shards=SHARDS)
    again, _ = await compare_topics(connection, topics, shards=SHARDS)

    assert len(plan.create) == len(topics)
    assert set(lacking) == groups_of(topics)
    assert again.create == plan.create


async def test_committed_offsets_stay(connection: KafkaConnection, topics: Topics) -> None:
    """A group that has read must never be sent back to the beginning."""
    await apply(connection, topics)
    (group,) = {reader.group for reader in topics[1].read_by if reader.group}
    place = TopicPartition(topics[1].name, 0)
    async with TopicAdmin.open(connection) as broker:
        await broker.commit(group, {place: 5})

    await apply(connection, topics)

    assert (await committed(connection, group))[place] == 5


async def test_a_new_reader_of_an_old_topic_begins_at_what_is_left(
    connection: KafkaConnection, topics: Topics
) -> None:
    """Retention may have taken the first messages; offset 0 would then be a loss that is none."""
    topic = topics[1]
    await apply(connection, (replace(topic, read_by=()),))
    producer = AIOKafkaProducer(**connection.client_arguments())
    await producer.start()
    for _ in range(4):
        await producer.send_and_wait(topic.name, b"x", partition=0)
    await producer.stop()
    admin = AIOKafkaAdminClient(**connection.client_arguments())
    await admin.start()
    await admin.delete_records({LibraryPlace(topic.name, 0): RecordsToDelete(before_offset=3)})
    await admin.close()

    report = await apply(connection, (topic,))

    (group,) = report.offsets
    assert (await committed(connection, group))[TopicPartition(topic.name, 0)] == 3


async def test_settings_are_repaired_and_those_of_others_kept(
    connection: KafkaConnection, topics: Topics
) -> None:
    """An operator's replication throttle is not ours to remove."""
    await apply(connection, topics)
    topic = topics[0]
    async with TopicAdmin.open(connection) as broker:
        (present,) = [found for found in await broker.describe() if found.name == topic.name]
        (drifted,) = (
            await _plan(connection, (replace(topic, config={**present.overrides, "retention.ms": "777000"}),))
        ).alter
        await broker.alter([replace(drifted, config={**drifted.config, "segment.jitter.ms": "5"})])

    plan, _ = await compare_topics(connection, topics, shards=SHARDS)
    report = await apply(connection, topics)

    assert [change.topic for change in plan.alter] == [topic.name]
    assert [(name, before) for name, before, _ in report.plan.alter[0].changes] == [
        ("retention.ms", "777000")
    ]
    async with TopicAdmin.open(connection) as broker:
        (repaired,) = [found for found in await broker.describe() if found.name == topic.name]
    assert repaired.overrides["retention.ms"] == topic.config["retention.ms"]
    assert repaired.overrides["segment.jitter.ms"] == "5"


async def _plan(connection: KafkaConnection, topics: Topics) -> TopicPlan:
    plan, _ = await compare_topics(connection, topics, shards=SHARDS)
    return plan


async def test_another_partition_count_is_refused_and_the_rest_is_done(
    connection: KafkaConnection, topics: Topics
) -> None:
    await apply(connection, topics[:1], shards=2)

    report = await apply(connection, topics)
    plan = await _plan(connection, topics)

    assert not report.is_complete
    assert [refused.topic for refused in report.plan.refused] == [topics[0].name]
    assert {topic.name for topic in report.plan.create} == {topics[1].name, topics[2].name}
    assert [(refused.topic, "has partition count 2" in refused.why) for refused in plan.refused] == [
        (topics[0].name, True)
    ]


async def test_a_group_with_members_is_reported_and_served_when_they_have_left(
    connection: KafkaConnection, topics: Topics
) -> None:
    """Brokers accept only members' commits for a group that has any."""
    topic = topics[1]
    (group,) = {reader.group for reader in topic.read_by if reader.group}
    await apply(connection, (replace(topic, read_by=()),))
    async with a_member(connection, group, topic.name):
        busy = await apply(connection, (topic,))
    served = await apply(connection, (topic,))

    assert (busy.busy, busy.offsets, busy.is_complete) == ({group: SHARDS}, {}, False)
    assert (served.busy, served.offsets) == ({}, {group: SHARDS})


async def test_a_setting_that_the_broker_does_not_know_is_a_persons_matter(
    connection: KafkaConnection, topics: Topics
) -> None:
    """Trying again would change nothing, so it must not look like an outage."""
    wrong = replace(topics[0], config={**topics[0].config, "retention.misspelt": "1"})

    with pytest.raises(StartRefused, match=r"retention\.misspelt"):
        await apply(connection, (wrong,))


async def test_a_wrong_value_of_a_setting_is_a_persons_matter(
    connection: KafkaConnection, topics: Topics
) -> None:
    await apply(connection, topics)
    wrong = replace(topics[0], config={**topics[0].config, "retention.ms": "-5"})

    with pytest.raises(StartRefused, match=r"retention\.ms"):
        await apply(connection, (wrong,))


async def test_more_replicas_than_brokers_are_a_persons_matter(
    connection: KafkaConnection, topics: Topics
) -> None:
    with pytest.raises(StartRefused, match="creating"):
        await apply(connection, topics, replication=3)


async def test_a_closed_port_is_unavailable_at_once(topics: Topics) -> None:
    with pytest.raises(Unavailable):
        await apply(KafkaConnection(("127.0.0.1:1",), request_timeout_seconds=5), topics)


async def test_a_silent_broker_is_unavailable_after_the_timeout(topics: Topics) -> None:
    """A black hole is worse than a refusal: without a limit the command would hang."""
    over = asyncio.Event()

    async def say_nothing(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as silent:
        port = silent.sockets[0].getsockname()[1]
        with pytest.raises(Unavailable):
            await apply(KafkaConnection((f"127.0.0.1:{port}",), request_timeout_seconds=1), topics)
        over.set()


async def test_the_whole_registry_can_be_applied(connection: KafkaConnection) -> None:
    """Every setting of every topic is one that a real broker takes."""
    report = await apply_topics(connection, TOPICS.values(), shards=SHARDS)
    plan, lacking = await compare_topics(connection, TOPICS.values(), shards=SHARDS)

    assert report.is_complete
    assert (plan.has_drift, lacking) == (False, {})


async def test_a_setting_that_only_some_brokers_know_is_probed_and_creates_nothing(
    connection: KafkaConnection,
) -> None:
    async with TopicAdmin.open(connection) as broker:
        before = {topic.name for topic in await broker.describe()}
        known = await broker.knows_setting("retention.ms", "1000")
        unknown = await broker.knows_setting("no.such.setting", "1000")
        after = {topic.name for topic in await broker.describe()}

    assert (known, unknown) == (True, False)
    assert after == before


async def test_where_the_broker_can_bound_records_every_topic_has_the_bound_of_its_readers(
    connection: KafkaConnection, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This broker has no such setting yet: another one that it takes stands for it."""
    await apply(connection, topics)
    monkeypatch.setattr("strider.messaging.topics.apply.RECORD_LIMIT", "index.interval.bytes")

    report = await apply(connection, topics)
    again = await apply(connection, topics)

    wanted = str(connection.max_decompressed_batch_bytes)
    assert {change.topic for change in report.plan.alter} == {topic.name for topic in topics}
    assert {setting for each in report.plan.alter for setting in each.changes} == {
        ("index.interval.bytes", "4096", wanted)
    }
    assert again.plan == TopicPlan(undeclared=again.plan.undeclared, private=again.plan.private)
