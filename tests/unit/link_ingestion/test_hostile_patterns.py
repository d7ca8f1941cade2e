"""Patterns that need long hold up neither the event loop nor other senders' seeds and pages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared, PageParsed, SeedSubmitted
from strider.contracts.generated.topics import CRAWL_SPECS, LINKS_DISCOVERED, PAGES_VALIDATED, SEEDS_SUBMITTED
from strider.link_ingestion.topology import SEEDS_PER_YIELD, PageIngestion, SeedIngestion
from strider.messaging.effects import Effects
from strider.messaging.inprocess.log import StoredRecord
from tests.figures import record_figure

from .builders import a_page, a_spec, validated
from .world import World

POLL = 1_000
"""Seeds of one poll."""
EXPENSIVE = "re:(?i)[ab]{100,350}!"
"""Nearly as large as patterns may be together."""
ENDINGS = [
    "/edit/*",
    r"re:\W" + r"[^a]" * 100,
    "re:(((.{0,10}a){0,10}){0,10})b",
    r"re:(?i)\pL{30}",
    "re:" + ".{0,999}" * 60,
    "re:" + "(a|b)" * 90,
    "re:" + "(a" * 200,
]


def of(event: Any, offset: int = 0, topic: str = SEEDS_SUBMITTED.name) -> StoredRecord:
    return StoredRecord(topic, 0, offset, 1_770_000_000_000, None, b"", ())


def worst_seeds() -> list[SeedSubmitted]:
    """Seeds whose lists are all different: no two have one crawl spec."""
    return [
        SeedSubmitted(
            url=f"https://h{number}.test/",
            include=(f"re:{number}[ab]{{0,100}}", ENDINGS[number % len(ENDINGS)]),
            exclude=tuple(f"re:x{number}-{each}" + "a?" * 9 for each in range(8)),
        )
        for number in range(POLL)
    ]


class Watched(NamedTuple):
    """What a handler returned, and how it shared the event loop."""

    effects: Effects
    seconds: float
    longest_gap: float
    """The longest time in which no other task ran; depends on the machine, so that it is only recorded."""
    turns: int
    """How often another task ran meanwhile."""


async def watched(work: Callable[[], Awaitable[Effects]]) -> Watched:
    """Run a handler beside a task that wants to run all the time."""
    longest, turns, ended = 0.0, 0, False

    async def watch() -> None:
        nonlocal longest, turns
        last = time.monotonic()
        while not ended:
            await asyncio.sleep(0)
            turns += 1
            longest, last = max(longest, (now := time.monotonic()) - last), now

    watcher = asyncio.create_task(watch())
    began = time.monotonic()
    result = await work()
    seconds = time.monotonic() - began
    ended = True
    await watcher
    return Watched(result, seconds, longest, turns)


@pytest.mark.fault("A1")
def test_a_poll_of_the_most_expensive_seeds_costs_a_second() -> None:
    """1,000 seeds, each with patterns of its own, the most expensive that are accepted or refused."""

    async def scenario() -> None:
        world = World()
        seeds = SeedIngestion(world.specs, policy=world.policy, clock=world.clock)
        poll = [(seed, of(seed, offset)) for offset, seed in enumerate(worst_seeds())]
        effects, seconds, gap, turns = await watched(lambda: seeds.on_seeds(poll))

        links = [say.event for say in effects.publish_last if say.topic is LINKS_DISCOVERED]
        accepted = sum(len(each.urls) for each in links)
        record_figure(
            f"a poll of {POLL} worst seeds: accepted={accepted} seconds={seconds:.2f} "
            f"longest-gap={gap * 1e3:.0f}ms"
        )
        assert 0 < accepted < POLL
        assert turns >= POLL // SEEDS_PER_YIELD

    asyncio.run(scenario())


def hostile_page(spec: CrawlSpecDeclared, links: int) -> PageParsed:
    urls = [f"https://www.a.test/{number}/" + "ab" * 1_000 for number in range(links)]
    return a_page(*urls, crawl_spec_id=spec.crawl_spec_id)


async def ingestion_of(world: World, *specs: CrawlSpecDeclared) -> PageIngestion:
    await world.say(CRAWL_SPECS, *specs)
    return PageIngestion(world.specs, world.seen, policy=world.policy, clock=world.clock)


@pytest.mark.fault("A1")
def test_a_page_of_long_links_holds_up_no_other_page() -> None:
    """Its links are matched in a thread: the loop serves heartbeats and other pages meanwhile."""

    async def scenario() -> None:
        world, spec, plain = World(), a_spec(scope="any", include=(EXPENSIVE,)), a_spec(scope="any")
        pages = await ingestion_of(world, spec, plain)
        hostile = validated(hostile_page(spec, 300))
        ordinary = validated(a_page("https://www.a.test/x", crawl_spec_id=plain.crawl_spec_id))
        finished: list[str] = []

        async def handle(name: str, event: Any) -> Effects:
            effects = await pages.on_validated([(event, of(event, topic=PAGES_VALIDATED.name))])
            finished.append(name)
            return effects

        slow = asyncio.create_task(watched(lambda: handle("hostile", hostile)))
        await asyncio.sleep(0)
        links = await handle("ordinary", ordinary)
        _, seconds, gap, turns = await slow
        record_figure(f"a page of 300 links of 2 KB: seconds={seconds:.2f} longest-gap={gap * 1e3:.0f}ms")
        assert finished == ["ordinary", "hostile"]
        assert [say.event.urls for say in links.publish] == [("https://www.a.test/x",)]
        assert turns > 1

    asyncio.run(scenario())


@pytest.mark.parametrize("count", [1, 3])
def test_the_verdicts_of_a_thread_are_those_of_the_loop(count: int) -> None:
    """The same page, with so many links that it is matched in a thread, or not."""

    async def scenario() -> list[Any]:
        world, spec = World(), a_spec(scope="any", exclude=(EXPENSIVE, "*/1/*"))
        pages = await ingestion_of(world, spec)
        page = validated(hostile_page(spec, count * 2))
        return list((await pages.on_validated([(page, of(page))])).publish)

    links, refusals = (say.event for say in asyncio.run(scenario()))
    assert [url.split("/")[3] for url in links.urls] == [str(n) for n in range(count * 2) if n != 1]
    assert refusals.reasons == ("excluded",)


@pytest.mark.fault("A1")
def test_a_declared_spec_beyond_the_limits_accepts_nothing() -> None:
    """A spec of an older version, or published on crawl-specs: its pages are settled, with the reason."""

    async def scenario() -> list[Any]:
        world, spec = World(), a_spec(scope="any", include=tuple(f"/{number}" for number in range(256)))
        pages = await ingestion_of(world, spec)
        page = validated(a_page("https://www.a.test/1", crawl_spec_id=spec.crawl_spec_id))
        effects = await pages.on_validated([(page, of(page))])
        seeds = SeedIngestion(world.specs, policy=world.policy, clock=world.clock)
        seed = SeedSubmitted(url="https://a.test/", crawl_spec_id=spec.crawl_spec_id)
        refused = await seeds.on_seeds([(seed, of(seed))])
        return [say.event for say in (*effects.publish, *effects.publish_last, *refused.publish_last)]

    of_page, settled, of_seed = asyncio.run(scenario())
    sentence = "the crawl spec cannot be used: include and exclude: 256 patterns together, the limit is 32"
    assert (of_page.reasons, of_page.details) == (("unknown_spec",), (sentence,))
    assert (settled.links_refused, settled.links_taken) == (1, 0)
    assert (of_seed.reasons, of_seed.details) == (("unknown_spec",), (sentence,))
