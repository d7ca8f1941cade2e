"""Offsets of the pipeline, read from a broker."""

from __future__ import annotations

from strider.contracts.generated.topics import (
    LINKS_DISCOVERED,
    PAGES_FETCHED,
    SEEDS_OWNED,
    SEEDS_SUBMITTED,
    TOPICS,
)
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus, simulate
from strider.messaging.ports import OutgoingMessage, RawRecord, TopicPartition
from strider.scheduler.adapters.offsets import (
    SCHEDULER_GROUP,
    SEED_GROUPS,
    TopicCompletionOffsets,
    TopicPipelineOffsets,
)
from strider.scheduler.core.runs.lost_pages import PIPELINE, PipelineWatermark


def test_an_unread_page_is_seen_in_its_topic() -> None:
    """The whole way from the broker's offsets to the proof: nothing is lost while the parser stands."""

    async def scenario() -> tuple[int, bool]:
        broker = InProcessBroker(clock=EventLoopClock())
        for hop in PIPELINE:
            for topic in hop.topics:
                broker.declare_topic(TOPICS[topic], shards=2)
            broker.start_group(hop.group, hop.topics)
        bus = InProcessBus(broker)
        producer = await bus.producer()
        await (await producer.send(OutgoingMessage(PAGES_FETCHED.name, b"key", b"page", partition=1)))
        soundings = TopicPipelineOffsets(bus)

        stands = PipelineWatermark(0, since_ms=0).after(await soundings.read_offsets())
        broker.group("parser").committed[await _only_place(soundings)] = 1
        is_over = stands.after(await soundings.read_offsets()).has_passed
        await soundings.close()
        return stands.stage, is_over

    assert simulate(scenario()) == (0, True)


def test_a_seed_behind_an_open_transaction_counts_for_the_end_of_a_run() -> None:
    """It is acknowledged and read uncommitted; committed data alone would end before it."""

    async def scenario() -> tuple[int, int, int]:
        broker = InProcessBroker(clock=EventLoopClock())
        for topic in (SEEDS_OWNED, SEEDS_SUBMITTED, LINKS_DISCOVERED):
            broker.declare_topic(topic, shards=1)
        for topic, group in (*SEED_GROUPS.items(), (LINKS_DISCOVERED.name, SCHEDULER_GROUP)):
            broker.start_group(group, [topic])
        bus = InProcessBus(broker)
        stranger = await bus.take_shard("stranger", 0, commit_interval_seconds=1_000)
        stranger.append(SEEDS_SUBMITTED.name, 0, RawRecord(b"key", b"open"))
        broker.append(OutgoingMessage(SEEDS_SUBMITTED.name, b"key", b"seed", partition=0))
        source = TopicCompletionOffsets(bus)
        offsets = await source.read_completion_offsets()
        await source.close()
        place = TopicPartition(SEEDS_SUBMITTED.name, 0)
        committed_end = broker.topic(SEEDS_SUBMITTED.name).partitions[0].stable_end()
        return offsets.seeds_end[place], offsets.seeds_committed[place], committed_end

    assert simulate(scenario()) == (2, 0, 0)


async def _only_place(soundings: TopicPipelineOffsets) -> TopicPartition:
    [place] = [place for place, end in (await soundings.read_offsets()).ends.items() if end]
    return TopicPartition(*place)
