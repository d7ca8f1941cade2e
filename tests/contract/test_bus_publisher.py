"""A service on each bus: raw and encoded publications, tombstones, and tables that lose a key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.avro.splice import Splicer
from strider.contracts.generated.events import (
    CrawlSpecDeclared,
    PageParsed,
    PageValidated,
    Verdict,
)
from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    PAGES_PARSED,
    PAGES_VALIDATED,
    VALIDATOR_DLQ,
)
from strider.messaging.effects import NO_EFFECTS, Effects, Publish, PublishRaw, Subscription
from strider.messaging.ports import GroupSpec, Record, TopicPartition
from strider.runtime.clocks import SeededRandomness, SystemClock
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.consumer.spec import ConsumerPorts
from strider.runtime.publishing.dead_letters import DeadLetterOrigin, DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher

from .bus_environments import World, until
from .bus_members import read

SHARDS = 3
CLOCK = SystemClock()
CODEC = Codec(SchemaStore.bundled())
PAGE = PageParsed(
    url="https://example.org/",
    url_key="key",
    origin="https://example.org",
    group="example.org",
    job_id="job",
    execution_id="execution",
    crawl_spec_id="spec",
    fetch_sequence=1,
    outcome="parsed",
    parser="html",
    parser_version="1",
    fetched_at_ms=1_760_000_000_000,
    text="täxt " * 4_000,
    link_urls=("https://example.org/a",),
)
VERDICT = Verdict(validation_status="valid", rules_version="1", validated_at_ms=1_760_000_000_001)


async def a_topic_like(world: World, topic: Topic[Any], partitions: int = SHARDS) -> Topic[Any]:
    """Make a topic of this test's own that is declared as one of ours."""
    return replace(topic, name=await world.create_topic(partitions))


def a_speaker(world: World) -> EventPublisher:
    return EventPublisher(world.bus(), CODEC, service="validator", shards=SHARDS, clock=CLOCK)


@asynccontextmanager
async def consuming(world: World, *reads: Subscription, speaker: EventPublisher) -> AsyncIterator[None]:
    """Run a consumer loop on a bus of its own."""
    group, topics = world.unique("group"), tuple(each.topic.name for each in reads)
    await world.start_group(group, topics)
    letters = DeadLetterWriter(
        await a_topic_like(world, VALIDATOR_DLQ, 1), DeadLetterOrigin("validator", group), clock=CLOCK
    )
    ports = ConsumerPorts(clock=CLOCK, chance=SeededRandomness(1), publisher=speaker, dead_letters=letters)
    loop = ConsumerLoop(world.bus(), CODEC, reads, GroupSpec(group, topics), ports=ports)
    task = asyncio.create_task(loop.run())
    try:
        yield
    finally:
        loop.request_stop()
        await task


async def everything_of(world: World, topic: Topic[Any], count: int) -> list[Record]:
    places = [TopicPartition(topic.name, number) for number in range(SHARDS)]
    return await read(await world.bus().reader(places), count)


async def test_a_page_is_passed_on_with_a_verdict_and_without_reencoding(world: World) -> None:
    """A page is 30 KiB of text and links; its bytes are what was measured and what must be kept."""
    parsed, validated = await a_topic_like(world, PAGES_PARSED), await a_topic_like(world, PAGES_VALIDATED)
    splicer = Splicer(CODEC, part=parsed, whole=validated)
    speaker = a_speaker(world)

    async def on_page_parsed(page: PageParsed, record: Record) -> Effects:
        assert record.value is not None
        spliced = splicer.splice(record.value, record.headers, verdict=VERDICT, part=page)
        return Effects(publish=(Publish(validated, PageValidated(page, VERDICT), encoded=spliced),))

    await speaker.publish((Publish(parsed, PAGE),), cause="cause")
    async with consuming(world, Subscription(parsed, on_page_parsed), speaker=speaker):
        (said,) = await everything_of(world, validated, 1)
    (heard,) = await everything_of(world, parsed, 1)
    await speaker.publish((Publish(validated, PageValidated(PAGE, VERDICT)),), cause="cause")
    as_event = (await everything_of(world, validated, 2))[1]
    await speaker.close()

    assert heard.value is not None
    assert said.value is not None
    assert heard.value[10:] in said.value
    assert CODEC.decode(validated, said.value, said.headers) == PageValidated(PAGE, VERDICT)
    assert (said.partition, said.key, said.value) == (as_event.partition, as_event.key, as_event.value)
    assert said.partition == heard.partition
    assert _lasting(said) == _lasting(as_event)


def _lasting(record: Record) -> list[tuple[str, bytes]]:
    """Headers but those that name a moment and a cause."""
    return [header for header in record.headers if header[0] not in ("ce_id", "ce_time")]


async def test_a_tombstone_is_published_and_consumed(world: World) -> None:
    """Between two states of a key, in their order, with the headers that it was given."""
    specs = await a_topic_like(world, replace(CRAWL_SPECS, partitioner="explicit"))
    speaker = a_speaker(world)
    heard: list[tuple[CrawlSpecDeclared | None, bytes | None, int, bytes | None]] = []

    async def on_spec(spec: CrawlSpecDeclared | None, record: Record) -> Effects:
        heard.append((spec, record.key, record.partition, dict(record.headers).get("replay-id")))
        return NO_EFFECTS

    key, replay = b"s1", (("replay-id", b"r1"),)
    spec = CrawlSpecDeclared(crawl_spec_id="s1")
    encoded = CODEC.encode(specs, spec)
    async with consuming(world, Subscription(specs, on_spec, accepts_tombstones=True), speaker=speaker):
        await speaker.publish(
            (
                Publish(specs, spec, partition=2),
                PublishRaw(specs, key, None, headers=replay, partition=2),
                PublishRaw(specs, key, encoded.value, headers=(*encoded.headers, *replay), partition=2),
            )
        )

        async def has_come() -> bool:
            return len(heard) == 3

        await until(has_come, what="all three were heard")
    await speaker.close()

    assert heard == [(spec, key, 2, None), (None, key, 2, b"r1"), (spec, key, 2, b"r1")]
