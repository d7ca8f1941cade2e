"""Owners' seeds have a topic of their own, and raw seeds wait for the scheduler: no order is changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from strider.contracts.generated.events import DeadLetter
from strider.contracts.generated.topics import (
    LINK_INGESTION_DLQ,
    LINKS_DISCOVERED,
    SEEDS_OWNED,
    SEEDS_SUBMITTED,
)
from strider.link_ingestion.adapters import SCHEDULER_GROUP
from strider.link_ingestion.backpressure import CHECK_SECONDS
from strider.link_ingestion.topology import OWNED_SEEDS_GROUP, SEEDS_GROUP
from strider.messaging.inprocess import simulate
from strider.messaging.ports import TopicPartition
from tests.unit.link_ingestion.world import SHARDS, World

LIMIT = 1_000
BUFFERED = 2_500
"""What a loop has read when its gate is closed: its buffer, and one poll."""
FLOOD = 20_000


def play(scenario: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        world = World()
        await scenario(world)
        await world.stop()

    simulate(play())


def _put_flood(world: World, count: int = FLOOD) -> None:
    for number in range(count):
        value = json.dumps({"url": f"https://flood{number % 50}.test/{number}"}).encode()
        world.put(SEEDS_SUBMITTED, value, partition=number % SHARDS)


def _put_owned(world: World, url: str) -> None:
    value = json.dumps({"url": url, "job_id": "own"}).encode()
    world.put(SEEDS_OWNED, value, headers=tuple(world.signature_of(value)))


def _read_links(world: World) -> None:
    """Let the scheduler read everything that is published."""
    committed = world.broker.group(SCHEDULER_GROUP).committed
    for number, log in enumerate(world.broker.topic(LINKS_DISCOVERED.name).partitions):
        committed[TopicPartition(LINKS_DISCOVERED.name, number)] = len(log.records)


@pytest.mark.fault("A21", part="raw seeds are published no faster than the scheduler reads them")
def test_raw_seeds_wait_for_the_scheduler_and_owners_do_not() -> None:
    async def scenario(world: World) -> None:
        _put_flood(world)
        world.start(max_waiting=LIMIT)
        await world.until(lambda: len(world.discovered()) >= LIMIT)
        await world.pass_time(30.0)
        held_at = len(world.discovered())
        _put_owned(world, "https://owner.test/behind")
        before = world.clock.monotonic()
        await world.until(lambda: "https://owner.test/behind" in world.discovered())
        took = world.clock.monotonic() - before
        await world.until(lambda: world.lag_of(OWNED_SEEDS_GROUP) == 0)

        assert LIMIT <= held_at <= LIMIT + BUFFERED
        assert took < 1.0
        assert world.waiting[-1] == held_at
        assert world.lag_of(SEEDS_GROUP) == FLOOD - held_at

    play(scenario)


def test_every_raw_seed_is_published_in_its_order_as_the_scheduler_reads() -> None:
    async def scenario(world: World) -> None:
        _put_flood(world)
        world.start(max_waiting=LIMIT)

        def is_drained() -> bool:
            _read_links(world)
            return world.lag_of(SEEDS_GROUP) == 0

        await world.until(is_drained)
        await world.pass_time(30 * CHECK_SECONDS)
        numbers = [
            [int(url.rpartition("/")[2]) for event in events for url in event.urls]
            for events in world.events_by_partition(LINKS_DISCOVERED)
        ]

        assert sorted(number for each in numbers for number in each) == [*range(FLOOD)]
        # Of one host and one partition of seeds: the order in which they were sent.
        for each in numbers:
            for host in range(50):
                for partition in range(SHARDS):
                    of_one = [n for n in each if n % 50 == host and n % SHARDS == partition]
                    assert of_one == sorted(of_one)
        assert world.waiting[-1] == 0

    play(scenario)


@pytest.mark.parametrize("key", ["", "the-key-of-somebody-else-0123456789abcdef"])
def test_a_seed_without_its_owners_signature_is_refused_on_the_owners_topic(key: str) -> None:
    """The broker's permissions may be missing: a flood there is not worth more than one of raw seeds."""

    async def scenario(world: World) -> None:
        value = b'{"url": "https://stranger.test/"}'
        headers = tuple(world.signature_of(value, key=key)) if key else ()
        world.put(SEEDS_OWNED, value, headers=headers)
        world.start()
        await world.drained()
        (detail,) = world.details()

        assert world.decided() == {"https://stranger.test/": "bad_seed"}
        assert detail.startswith("owner-signature: ")
        assert key or detail.endswith("or send it to seeds-submitted as a raw seed")
        assert world.discovered() == []

    play(scenario)


def test_a_signed_seed_is_taken_on_both_topics() -> None:
    async def scenario(world: World) -> None:
        value = b'{"url": "https://owner.test/old", "job_id": "own"}'
        world.put(SEEDS_SUBMITTED, value, headers=tuple(world.signature_of(value)))
        _put_owned(world, "https://owner.test/new")
        world.start()
        await world.drained()
        (events,) = [each for each in world.events_by_partition(LINKS_DISCOVERED) if each]

        assert {name for event in events for name in event.from_job_ids} == {"own"}
        assert {topic for event in events for topic in event.seed_topics} == {
            SEEDS_OWNED.name,
            SEEDS_SUBMITTED.name,
        }

    play(scenario)


def test_a_dead_letter_names_the_owners_topic() -> None:
    async def scenario(world: World) -> None:
        world.put(SEEDS_OWNED, b'{"url": "https://owner.test/", "max_dpeth": 1}')
        world.start()
        await world.drained()
        letters: list[DeadLetter] = world.events(LINK_INGESTION_DLQ)

        assert [(letter.topic, letter.group) for letter in letters] == [(SEEDS_OWNED.name, OWNED_SEEDS_GROUP)]
        assert world.decided() == {"https://owner.test/": "bad_seed"}

    play(scenario)


def test_while_offsets_cannot_be_read_raw_seeds_wait_and_nothing_else_does() -> None:
    async def scenario(world: World) -> None:
        _put_flood(world)
        world.start(max_waiting=LIMIT)
        await world.until(lambda: len(world.discovered()) >= LIMIT)
        world.offsets.is_away = True
        _read_links(world)
        await world.pass_time(10.0)
        held_at = len(world.discovered())
        world.offsets.is_away = False
        await world.until(lambda: len(world.discovered()) > held_at)

        assert held_at <= LIMIT + BUFFERED
        assert all(task.done() is False for task in world.loops)

    play(scenario)


@pytest.mark.parametrize(
    ("is_owned", "position"), [(True, (".numbered", 7)), (False, (SEEDS_SUBMITTED.name, 0))]
)
def test_an_owners_number_orders_its_seeds_in_place_of_their_messages(
    is_owned: bool,
    position: tuple[str, int],
) -> None:
    """Of a raw seed the message counts: any number could pass over a seed of another sender."""

    async def scenario(world: World) -> None:
        value = json.dumps({"url": "https://own.test/", "job_id": "own", "seed_id": "own/7"}).encode()
        for _ in range(2):
            if is_owned:
                world.put(SEEDS_OWNED, value, headers=tuple(world.signature_of(value)))
            else:
                world.put(SEEDS_SUBMITTED, value)
        world.start()
        await world.drained()
        events = [event for events in world.events_by_partition(LINKS_DISCOVERED) for event in events]
        positions = [
            each for event in events for each in zip(event.seed_topics, event.seed_offsets, strict=True)
        ]

        topic, offset = position
        assert positions == [(topic, offset), (topic, offset if is_owned else offset + 1)]

    play(scenario)
