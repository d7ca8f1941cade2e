"""Commands and used-up budgets outlive the retention of job-events; those of ended runs are deleted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts import Topic
from strider.contracts.generated.topics import FRONTIER, JOB_COMMANDS, JOB_EVENTS
from strider.messaging.effects import Publish
from strider.messaging.inprocess import simulate
from tests.unit.scheduler.simulation.commands import a_command
from tests.unit.scheduler.simulation.web import Page
from tests.unit.scheduler.simulation.world import SPEC, SimulatedWorld
from tests.unit.scheduler.test_topology import SITE, a_site, pages_of

from .test_job_commands import MANY, PAGES, scene, started, wish

pytestmark = pytest.mark.fault("B4")


def cut(world: SimulatedWorld, topic: Topic[Any]) -> None:
    """Delete all records of a topic, as its retention does in time."""
    for log in world.broker.topic(topic.name).partitions:
        log.trim(log.end)


def commands(world: SimulatedWorld) -> list[str]:
    """Return the kinds of the commands that are recorded: the last record of each key."""
    last = {
        record.key: record.value
        for log in world.broker.topic(JOB_COMMANDS.name).partitions
        for record in log.records
    }
    return [world.codec.decode(JOB_COMMANDS, value).what for value in last.values() if value]


async def command_of_earlier_version(world: SimulatedWorld, what: str, **changes: Any) -> None:
    at_ms = round(world.clock.now().timestamp() * 1000)
    await world.pipeline.publisher.publish([Publish(JOB_EVENTS, a_command(what, at_ms=at_ms, **changes))])


@pytest.mark.parametrize("is_rebuilt", [False, True])
def test_a_pause_holds_after_retention_and_a_resume_ends_it(is_rebuilt: bool) -> None:
    """The command of an earlier version is recorded by the next owner of the first shard."""

    async def act(world: SimulatedWorld, scheduler: Any) -> None:
        await asyncio.sleep(10)
        await command_of_earlier_version(world, "pause")
        await asyncio.sleep(3)
        await scheduler.kill()
        again = world.start()
        await asyncio.sleep(5)
        await again.kill()
        cut(world, JOB_EVENTS)
        if is_rebuilt:
            world.lose_frontier()
        before = len(started(world))
        last = world.start()
        await asyncio.sleep(300)
        assert len(started(world)) == before
        await wish(world, "resume")
        await world.until_complete(last, seconds=300)
        await last.stop()

    world = scene(act)

    assert pages_of(world) == {"/": 1, **{page.url.removeprefix(f"http://{SITE}"): 1 for page in PAGES}}
    assert commands(world) == ["resume"]


@pytest.mark.parametrize(
    ("what", "about"), [("cancel", {}), ("cancel", {"job_id": "job"}), ("drop", {"job_id": "job"})]
)
def test_what_cannot_be_undone_holds_after_retention(what: str, about: dict[str, str]) -> None:
    """Seeds of it that come later are refused."""

    async def act(world: SimulatedWorld, scheduler: Any) -> None:
        await asyncio.sleep(10)
        await command_of_earlier_version(world, what, **about)
        await world.until_complete(scheduler, seconds=30)
        await scheduler.kill()
        again = world.start()
        await asyncio.sleep(5)
        await again.kill()
        cut(world, JOB_EVENTS)
        before = len(started(world))
        last = world.start()
        await world.pipeline.submit(f"http://{SITE}/later")
        await asyncio.sleep(20)
        await last.stop()
        assert len(started(world)) == before

    world = scene(act)

    assert world.reasons()[f"http://{SITE}/later"] == {"cancel": "cancelled", "drop": "dropped"}[what]


@pytest.mark.parametrize(
    "limits", [pytest.param({"max_pages": 10}, id="pages"), pytest.param({"max_seconds": 10}, id="seconds")]
)
def test_a_used_up_budget_stays_used_up_after_retention(limits: dict[str, int]) -> None:
    """Nothing but its record says so any more: the entries of the run are deleted from the log as well."""

    async def act(world: SimulatedWorld, scheduler: Any) -> None:
        await world.until_complete(scheduler, seconds=300)
        await scheduler.kill()
        cut(world, JOB_EVENTS)
        cut(world, FRONTIER)
        world.lose_frontier()
        before = len(started(world))
        url = f"http://{SITE}/later"
        world.web.pages[url] = Page(url)
        last = world.start()
        await world.pipeline.submit(url)
        await asyncio.sleep(100)
        await last.stop()
        assert len(started(world)) == before

    world = scene(act, spec=replace(SPEC, **limits))

    assert world.reasons()[f"http://{SITE}/later"] == "budget"
    assert commands(world) == ["budget_used_up"]


def test_a_resume_wakes_entries_whose_pause_no_log_has() -> None:
    async def act(world: SimulatedWorld, scheduler: Any) -> None:
        await asyncio.sleep(10)
        await wish(world, "pause")
        await asyncio.sleep(10)
        await scheduler.kill()
        cut(world, JOB_COMMANDS)
        before = len(started(world))
        last = world.start()
        await asyncio.sleep(100)
        assert len(started(world)) <= before + 2  # no more than what the pause had not reached
        await wish(world, "resume")
        await world.until_complete(last, seconds=300)
        await last.stop()

    world = scene(act)

    assert len(pages_of(world)) == MANY + 1


KEEP_SECONDS = 1_000.0


def tidy(pages: list[Page]) -> SimulatedWorld:
    world = SimulatedWorld(a_site(*pages))
    world.options = replace(
        world.options,
        retention_interval_seconds=60.0,
        keep_closed_seconds=100.0,
        keep_commands_seconds=KEEP_SECONDS,
    )
    return world


def test_commands_of_ended_runs_are_deleted_and_a_pause_in_force_is_not() -> None:
    async def scenario() -> None:
        world = tidy(PAGES)
        await world.begin()
        scheduler = world.start()
        await asyncio.sleep(10)
        for what, about in (
            ("pause", {"execution_id": "gone", "job_id": "job"}),
            ("pause", {"execution_id": "other", "job_id": "job"}),
            ("cancel", {"execution_id": "gone", "job_id": "job"}),
            ("cancel", {"job_id": "old job"}),
            ("pause", {}),
        ):
            await wish(world, what, **about)
        await asyncio.sleep(KEEP_SECONDS / 2)
        ended = ["run_completed"]  # of the cancelled run
        assert sorted(commands(world)) == ["cancel", "cancel", "pause", "pause", "pause", *ended]
        await asyncio.sleep(KEEP_SECONDS)
        # Of the cancelled run nothing is left; the others are paused, and a job may have later runs.
        assert sorted(commands(world)) == ["cancel", "pause", "pause"]
        await wish(world, "resume")
        await world.until_complete(scheduler, seconds=300)
        await asyncio.sleep(KEEP_SECONDS + 200)
        assert sorted(commands(world)) == ["cancel", "pause"]
        await scheduler.stop()

    simulate(scenario())
