"""Offsets of the pipeline, read from a broker."""

from __future__ import annotations

from strider.contracts.generated.topics import PAGES_FETCHED, TOPICS
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus, simulate
from strider.messaging.ports import OutgoingMessage, TopicPartition
from strider.scheduler.adapters.offsets import TopicPipelineOffsets
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


async def _only_place(soundings: TopicPipelineOffsets) -> TopicPartition:
    [place] = [place for place, end in (await soundings.read_offsets()).ends.items() if end]
    return TopicPartition(*place)
