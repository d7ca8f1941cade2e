"""Runs end once, neither early nor never, with crashes, takeovers, losses and repeats."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import replace

import pytest

from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_COMMANDS, JOB_EVENTS
from strider.messaging.effects import Publish
from strider.messaging.inprocess import simulate
from strider.scheduler.core.runs.ending_runs import proving_shard, start_page_fields, start_pages_of
from strider.scheduler.loops.run_endings import RAW_RUNS_PER_SECOND
from tests.unit.scheduler.simulation.checks import check_visits
from tests.unit.scheduler.simulation.commands import a_command
from tests.unit.scheduler.simulation.pipeline import SHARDS, key_of_url
from tests.unit.scheduler.simulation.web import Host, Page, Web
from tests.unit.scheduler.simulation.world import SPEC, SchedulerInstance

from .ending_world import (
    SITE,
    EndingWorld,
    a_site,
    end_among_kills,
    numbered,
    start_pages_listed,
)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.fault("F1", part="schedulers and link-ingestion while a run ends, simulated")
def test_a_closed_run_ends_once_whatever_is_killed(seed: int) -> None:
    ended = end_among_kills(seed)

    assert (ended.ends, ended.requests_after_the_end, ended.open_at_the_end) == (1, 0, 0)


def test_the_end_has_the_counts_of_the_run() -> None:
    async def scenario() -> JobEvent:
        world = EndingWorld(a_site(*numbered(3), Page(f"http://{SITE}/gone", "missing")))
        await world.begin_seeds()
        scheduler = world.start()
        began = world.clock.monotonic()
        await world.send_seeds(*world.web.starts)
        await world.command("close")
        await world.until_ended()
        took = world.clock.monotonic() - began
        end = await world.check_ended()
        await scheduler.stop()
        assert abs(end.seconds - took) <= 2
        assert took < 30
        return end

    end = simulate(scenario())
    assert (end.pages, end.job_id, end.state_after) == (4, "job", "completed")
    assert end.counts == {"accepted": 5, "settled": 4, "not_found": 1}
    home = key_of_url(f"http://{SITE}/")
    assert start_pages_listed(end) == [(home, home[::-1], "t")]


@pytest.mark.parametrize("is_lost", [pytest.param(False, id="warm"), pytest.param(True, id="rebuilt")])
def test_a_cancelled_continuous_run_has_the_pages_that_it_fetched(is_lost: bool) -> None:
    """They wait for their next recrawl when they are closed; what never had a page is not counted."""

    async def scenario() -> JobEvent:
        site = a_site(*numbered(3), Page(f"http://{SITE}/gone", "missing"))
        world = EndingWorld(site, spec=replace(SPEC, continuous=True, recrawl_seconds=60))
        await world.begin_seeds()
        scheduler = world.start()
        await world.send_seeds(*world.web.starts)
        while len(world.web.log) < 5 * 4:
            await asyncio.sleep(1)
        if is_lost:
            await scheduler.kill()
            world.lose_frontier()
            scheduler = world.start()
        await world.command("cancel")
        await world.until_ended()
        end = await world.check_ended()
        await scheduler.stop()
        return end

    end = simulate(scenario())
    assert (end.pages, end.state_after) == (4, "cancelled")
    assert end.counts == {"accepted": 5, "cancelled": 5}


def test_start_pages_that_failed_are_not_in_the_end_of_the_run() -> None:
    """And of more than are listed it has one hash, which is the same for the same pages in any order."""
    homes = [f"http://{SITE}/{number}" for number in range(70)]
    pages = {url: Page(url) for url in homes} | {homes[0]: Page(homes[0], "missing")}

    async def scenario(starts: list[str]) -> JobEvent:
        world = EndingWorld(Web({SITE: Host(SITE)}, pages, tuple(starts)))
        await world.begin_seeds()
        scheduler = world.start()
        await world.send_seeds(*world.web.starts)
        await world.command("close")
        end = await world.until_ended()
        await scheduler.stop()
        return end

    end, again, other = (simulate(scenario(urls)) for urls in (homes, homes[::-1], homes[:-1]))
    assert (end.counts["not_found"], end.start_pages, len(end.start_url_keys)) == (1, 69, 1)
    assert start_page_fields(start_pages_of(end)) == start_page_fields(start_pages_of(again))
    assert end.start_url_keys != other.start_url_keys


def test_a_run_that_is_not_closed_does_not_end() -> None:
    async def scenario() -> EndingWorld:
        world = EndingWorld(a_site(*numbered(2)))
        await world.begin_seeds()
        scheduler = world.start()
        await world.send_seeds(*world.web.starts)
        await asyncio.sleep(300)
        await scheduler.stop()
        return world

    world = simulate(scenario())
    assert world.published(JOB_EVENTS) == []


def test_a_run_without_an_accepted_url_ends_with_zeros() -> None:
    async def scenario() -> JobEvent:
        world = EndingWorld(a_site())
        await world.begin_seeds()
        scheduler = world.start()
        await world.command("close")
        await world.until_ended(seconds=60)
        await scheduler.stop()
        return world.ends()[0]

    end = simulate(scenario())
    assert (end.counts, end.pages, end.seconds) == ({"accepted": 0}, 0, 0)


@pytest.mark.parametrize("commands", [("cancel",), ("close", "cancel"), ("cancel", "close")])
def test_a_cancelled_run_ends_as_cancelled(commands: tuple[str, ...]) -> None:
    async def scenario() -> JobEvent:
        world = EndingWorld(a_site(*numbered(60)))
        await world.begin_seeds()
        scheduler = world.start()
        await world.send_seeds(*world.web.starts)
        for what in commands:
            await asyncio.sleep(5)
            await world.command(what)
        await world.until_ended(seconds=120)
        end = await world.check_ended()
        await scheduler.stop()
        return end

    end = simulate(scenario())
    assert end.state_after == "cancelled"
    assert end.counts["cancelled"] > 40


def test_a_run_ends_when_its_budget_is_used_up() -> None:
    async def scenario() -> JobEvent:
        world = EndingWorld(a_site(*numbered(40)), spec=replace(SPEC, max_pages=7))
        await world.begin_seeds()
        scheduler = world.start()
        await world.send_seeds(*world.web.starts)
        await world.command("close")
        await world.until_ended(seconds=300)
        end = await world.check_ended()
        await scheduler.stop()
        return end

    end = simulate(scenario())
    assert (end.pages, end.counts["budget"]) == (7, 34)


def test_a_run_ends_when_its_host_is_away_for_longer_than_the_host_patience() -> None:
    async def scenario() -> JobEvent:
        world = EndingWorld(
            a_site(*numbered(5), robots="gone"), spec=replace(SPEC, host_patience_seconds=300)
        )
        await world.begin_seeds()
        scheduler = world.start()
        await world.send_seeds(*world.web.starts)
        await world.command("close")
        await world.until_ended(seconds=900)
        end = await world.check_ended()
        await scheduler.stop()
        return end

    end = simulate(scenario())
    assert end.pages == 0
    assert sum(end.counts.values()) == 2, end.counts


def test_what_comes_after_the_end_is_refused_and_a_page_that_is_read_again_is_not() -> None:
    """Known links of a page that is delivered again are known; a late seed and a new link are refused."""

    async def scenario() -> EndingWorld:
        world = EndingWorld(a_site(*numbered(2)))
        late, linked = f"http://{SITE}/late", f"http://{SITE}/linked"
        await world.begin_seeds()
        scheduler = world.start()
        await world.send_seeds(*world.web.starts)
        await world.command("close")
        await world.until_ended()
        await world.send_seeds(late)
        home = world.web.starts[0]
        await world.pipeline.discover([*world.web.pages[home].links, linked], page=home)
        await asyncio.sleep(10)
        await scheduler.kill()
        world.lose_frontier()
        scheduler = world.start()
        await world.send_seeds(f"{late}-again")
        await world.check_ended()
        await scheduler.stop()
        return world

    world = simulate(scenario())
    urls = ("late", "linked", "late-again")
    assert world.reasons() == {f"http://{SITE}/{path}": "execution_over" for path in urls}


def test_two_hundred_runs_that_end_at_a_time_cost_some_messages_for_each_shard() -> None:
    runs = [f"run-{number}" for number in range(200)]

    async def scenario() -> EndingWorld:
        world = EndingWorld(a_site(*numbered(2)))
        await world.begin_seeds()
        schedulers = [world.start(), world.start()]
        commands = [a_command("close", job_id="", execution_id=run) for run in runs]
        await world.pipeline.publisher.publish([Publish(JOB_COMMANDS, each) for each in commands])
        ends_at = world.clock.monotonic() + 60
        while len(world.ends()) < len(runs):
            assert world.clock.monotonic() < ends_at
            await asyncio.sleep(1)
        for each in schedulers:
            await each.kill()
        return world

    world = simulate(scenario())
    ended = Counter(each.execution_id for each in world.ends())
    assert ended == dict.fromkeys(runs, 1)
    facts = Counter(each.execution_id for each in world.published(JOB_EVENTS))
    assert max(facts.values()) <= 2 * SHARDS + 2


def test_a_flood_of_closed_raw_runs_delays_no_run_of_an_owner() -> None:
    """And costs a limited number of messages in a time."""

    async def scenario() -> EndingWorld:
        world = EndingWorld(a_site(*numbered(2)))
        await world.begin_seeds()
        scheduler = world.start()
        names = [*(f"raw.{number}" for number in range(2_000)), "owned"]
        commands = [a_command("close", job_id="", execution_id=name) for name in names]
        await asyncio.sleep(5)
        await world.pipeline.publisher.publish([Publish(JOB_COMMANDS, each) for each in commands])
        await asyncio.sleep(12)
        await scheduler.kill()
        return world

    world = simulate(scenario())
    ended = {each.execution_id for each in world.ends()}
    assert "owned" in ended
    assert 20 <= len(ended) <= 250
    assert len(world.published(JOB_EVENTS)) < 12 * RAW_RUNS_PER_SECOND * (2 * SHARDS + 2)


def test_two_hundred_raw_runs_end_soon_where_each_pass_takes_seconds() -> None:
    """As on a busy machine: the limit is one of messages in a time, not in a pass."""
    runs = [f"raw.{number}" for number in range(200)]

    async def scenario() -> EndingWorld:
        world = EndingWorld(a_site(*numbered(2)), latency_seconds=2.0)
        await world.begin_seeds()
        scheduler = world.start()
        commands = [a_command("close", job_id="", execution_id=run) for run in runs]
        await world.pipeline.publisher.publish([Publish(JOB_COMMANDS, each) for each in commands])
        ends_at = world.clock.monotonic() + 90
        while len(world.ends()) < len(runs):
            assert world.clock.monotonic() < ends_at, len(world.ends())
            await asyncio.sleep(1)
        await scheduler.kill()
        return world

    world = simulate(scenario())
    assert Counter(each.execution_id for each in world.ends()) == dict.fromkeys(runs, 1)


async def run_last_seconds(world: EndingWorld, chance: random.Random) -> None:
    """Kill the owner of the proving shard as soon as the proof is about to end."""
    shard = proving_shard("run", SHARDS)
    alive: list[SchedulerInstance] = [world.start(), world.start()]
    rounds_at_kill, kills = 0, chance.randint(1, 5)
    while kills and not world.ends():
        await asyncio.sleep(chance.uniform(0.05, 0.4))
        rounds = sum(each.what == "run_count_wanted" for each in world.published(JOB_EVENTS))
        if rounds > rounds_at_kill and chance.random() < 0.4:
            rounds_at_kill, kills = rounds, kills - 1
            owner = next((each for each in alive if each.scheduler._shards.find(shard)), alive[0])
            alive.remove(owner)
            await owner.kill()
            alive.append(world.start())


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed >= 2 else []) for seed in range(100)]
)
def test_a_run_ends_once_where_its_prover_is_killed_in_the_last_second(seed: int) -> None:
    async def scenario() -> EndingWorld:
        chance = random.Random(seed)
        world = EndingWorld(a_site(*numbered(4)), seed=seed)
        await world.begin_seeds()
        killing = world.pipeline.spawn(run_last_seconds(world, chance))
        await world.send_seeds(*world.web.starts)
        await world.command("close")
        await world.until_ended()
        await world.check_ended()
        killing.cancel()
        return world

    world = simulate(scenario())
    check_visits(world, spare=1_000)
