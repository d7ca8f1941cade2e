"""Sources that are too shallow are found, and deepened on request."""

from __future__ import annotations

import pytest

from strider.cli.commands.sources import deepen_shallow, load_sources
from strider.cli.connections import MissingTopic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SourceSaved
from strider.contracts.generated.topics import SCHEMAS, SOURCES
from strider.messaging.effects import Publish
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus, simulate
from strider.runtime.publishing.publisher import EventPublisher

DEPTHS = {"unset": 0, "list": 1, "usual": 3, "deep": 7, "two": 2}


async def a_bus(codec: Codec) -> InProcessBus:
    """Save sources of every depth, one of them twice."""
    broker = InProcessBroker(clock=EventLoopClock())
    for topic in (SOURCES, SCHEMAS):
        broker.declare_topic(topic, shards=1)
    bus = InProcessBus(broker)
    speaker = EventPublisher(bus, codec, service="api", shards=1, clock=EventLoopClock())
    saved = [SourceSaved("two", "two", "https://two.test/", max_depth=0)]
    saved += [SourceSaved(name, name, f"https://{name}.test/", max_depth=n) for name, n in DEPTHS.items()]
    await speaker.publish([Publish(SOURCES, source) for source in saved])
    await speaker.close()
    return bus


@pytest.mark.req("S0.4.3")
@pytest.mark.parametrize("is_raising", [False, True])
def test_sources_that_follow_no_link_or_one_are_raised_to_three(is_raising: bool) -> None:
    """Once: the next audit finds nothing. No other field and no other source changes."""

    async def scenario() -> None:
        codec, clock = Codec(SchemaStore.bundled()), EventLoopClock()
        bus = await a_bus(codec)

        found = await deepen_shallow(bus, codec, clock=clock, now_ms=9, is_raising=is_raising)
        again = await deepen_shallow(bus, codec, clock=clock, now_ms=10, is_raising=is_raising)

        assert [source.source_id for source in found] == ["list", "unset"]
        assert again == ([] if is_raising else found)
        after = {source.source_id: source for source in await load_sources(bus, codec, clock=clock)}
        raised = dict.fromkeys(("list", "unset"), 3) if is_raising else {}
        assert {name: source.max_depth for name, source in after.items()} == DEPTHS | raised
        assert after["list"].url == "https://list.test/"
        assert after["list"].updated_at_ms == (9 if is_raising else 0)

    simulate(scenario())


def test_a_missing_topic_is_reported() -> None:
    async def scenario() -> None:
        bus = InProcessBus(InProcessBroker(clock=EventLoopClock()))
        with pytest.raises(MissingTopic, match="strider topics apply"):
            await load_sources(bus, Codec(SchemaStore.bundled()), clock=EventLoopClock())

    simulate(scenario())
