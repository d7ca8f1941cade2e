"""Facts in the transactions of a shard: a fenced owner publishes none."""

from __future__ import annotations

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import FRONTIER, HOSTS, JOB_EVENTS, LINKS_DISCOVERED
from strider.crawl.feeds import JobEventFeed
from strider.messaging.errors import ShardFenced
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus, simulate
from strider.scheduler.adapters.frontier_log.writer import TopicFrontierLogs


def a_fact(run: str) -> JobEvent:
    return JobEvent(run, "run_completed", is_wish=False, at_ms=1, by="scheduler", execution_id=run)


def test_a_fact_is_published_by_the_owner_of_the_shard_alone() -> None:
    async def scenario() -> list[str]:
        broker, codec = InProcessBroker(clock=EventLoopClock()), Codec(SchemaStore.bundled())
        for topic in (FRONTIER, HOSTS, JOB_EVENTS, LINKS_DISCOVERED):
            broker.declare_topic(topic, shards=2)
        bus = InProcessBus(broker)
        logs = TopicFrontierLogs(bus, codec, commit_interval_seconds=0.25)
        first = await logs.take_over(1)
        await first.publish_facts([a_fact("a")])
        second = await logs.take_over(1)
        with pytest.raises(ShardFenced):
            await first.publish_facts([a_fact("b")])
        await second.publish_facts([a_fact("c")])
        feed = JobEventFeed(bus, codec)
        return [event.execution_id for event in await feed.read_to_end()]

    assert simulate(scenario()) == ["a", "c"]
