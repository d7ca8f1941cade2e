"""Runs paused and cancelled, hosts blocked: on small webs in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.topics import FRONTIER, HOSTS, JOB_COMMANDS, URLS_DECIDED
from strider.contracts.partitioning import shard_of_host
from strider.frontier.models import QueueLimits
from strider.messaging.effects import Publish
from strider.messaging.inprocess import simulate
from strider.politeness.circuit_breaker import BreakerLimits
from strider.scheduler.options import SchedulerOptions
from strider.urls import url_hash, url_key_of
from tests.unit.scheduler.simulation.commands import a_command
from tests.unit.scheduler.simulation.pipeline import SHARDS
from tests.unit.scheduler.simulation.web import Host, Page, Web
from tests.unit.scheduler.simulation.world import SPEC, SchedulerInstance, SimulatedWorld
from tests.unit.scheduler.test_topology import SITE, a_site, pages_of

MANY = 60
PAGES = [Page(f"/{number}") for number in range(MANY)]


async def wish(world: SimulatedWorld, what: str, **changes: Any) -> None:
    at_ms = round(world.clock.now().timestamp() * 1000)
    await world.pipeline.publisher.publish([Publish(JOB_COMMANDS, a_command(what, at_ms=at_ms, **changes))])


def scene(
    act: Callable[[SimulatedWorld, SchedulerInstance], Awaitable[None]], **settings: Any
) -> SimulatedWorld:
    """Begin a crawl of one host, and do something with it."""

    async def scenario() -> SimulatedWorld:
        world = SimulatedWorld(**({"web": a_site(*PAGES)} | settings))
        await world.begin()
        scheduler = world.start()
        await act(world, scheduler)
        return world

    return simulate(scenario())


def started(world: SimulatedWorld) -> list[float]:
    return sorted(visit.began for visit in world.web.log)


def latest_states(world: SimulatedWorld) -> set[tuple[str, str]]:
    entries = {entry.url: entry for entry in world.published(FRONTIER)}
    return {(entry.state, entry.reason) for entry in entries.values()}


def test_a_cancelled_run_requests_nothing_more_and_states_the_reason() -> None:
    """Within two seconds; what waited is dropped, and so is what pages under way lead to."""
    at = 0.0

    async def act(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        nonlocal at
        await asyncio.sleep(15)
        at = world.clock.monotonic()
        await wish(world, "cancel", reason="a mistake")
        await world.until_complete(scheduler, seconds=30)
        await scheduler.stop()

    world = scene(act)

    assert 5 <= len(pages_of(world)) <= 20
    assert max(started(world)) <= at + 2
    untried = set(world.web.pages) - set(world.web.tries)
    assert {world.reasons()[url] for url in untried} == {"cancelled"}
    assert latest_states(world) == {("completed", "settled"), ("failed", "cancelled")}


def test_a_cancelled_run_stays_so_through_a_restart_and_a_rebuild() -> None:
    """Seeds of it that come later are refused: by who was killed, and by who finds nothing but the log."""

    async def act(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        await asyncio.sleep(10)
        await wish(world, "cancel")
        await world.until_complete(scheduler, seconds=30)
        await scheduler.kill()
        before = len(started(world))
        for url in ("/warm", "/rebuilt"):
            again = world.start()
            await world.pipeline.submit(f"http://{SITE}{url}")
            await asyncio.sleep(20)
            await again.kill()
            world.lose_frontier()
        assert len(started(world)) == before
        assert world.reasons()[f"http://{SITE}/rebuilt"] == "cancelled"
        assert world.reasons()[f"http://{SITE}/warm"] == "cancelled"

    scene(act)


@pytest.mark.req("S1.13.8", part="a URL that is taken out of the queue")
@pytest.mark.parametrize("is_killed", [pytest.param(False, id="alive"), pytest.param(True, id="restarted")])
def test_a_url_that_is_cancelled_is_not_requested_in_its_run(is_killed: bool) -> None:
    """The others are; a later seed of the run is refused by its reason, also after the loss of Redis."""
    url = f"http://{SITE}/{MANY - 1}"
    cancelled = {"url_key": url_hash(url_key_of(url)), "shard": shard_of_host(SITE, SHARDS)}

    async def act(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        await asyncio.sleep(10)
        await wish(world, "cancel_url", reason="asked to", **cancelled)
        if is_killed:
            await scheduler.kill()
            world.lose_frontier()
            scheduler = world.start()
        await world.until_complete(scheduler, seconds=300)
        await world.pipeline.submit(url)
        await asyncio.sleep(20)
        await scheduler.stop()

    world = scene(act)

    assert url not in world.web.tries
    assert set(pages_of(world)) == {"/", *(f"/{number}" for number in range(MANY - 1))}
    assert world.reasons()[url] == "cancelled"
    decisions = [each for each in world.published(URLS_DECIDED) if url in each.urls]
    kinds = [each.decisions[each.urls.index(url)] for each in decisions]
    assert list(dict.fromkeys(kinds)) == ["closed", "refused"]  # a kill may repeat the first one
    assert {each.details[each.urls.index(url)] for each in decisions} == {"asked to"}


def test_a_cancelled_url_leaves_the_queue_before_it_is_due() -> None:
    """A sweep of its shard closes it while its host is blocked, and the others stay."""
    url = f"http://{SITE}/5"
    cancelled = {"url_key": url_hash(url_key_of(url)), "shard": shard_of_host(SITE, SHARDS)}

    async def act(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        await asyncio.sleep(4)
        await wish(world, "block_host", group=SITE)
        await asyncio.sleep(5)
        await wish(world, "cancel_url", **cancelled)
        await asyncio.sleep(5)
        states = {entry.url: entry.state for entry in world.published(FRONTIER)}
        assert states[url] == "failed"
        assert [states[f"http://{SITE}/{number}"] for number in (10, 20, 30)] == ["pending"] * 3
        await scheduler.stop()

    scene(act)


@pytest.mark.parametrize("is_killed", [pytest.param(False, id="alive"), pytest.param(True, id="restarted")])
def test_a_paused_run_keeps_its_entries_and_continues_on_resume(is_killed: bool) -> None:
    async def act(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        await asyncio.sleep(10)
        await wish(world, "pause")
        await asyncio.sleep(3)
        asked = len(started(world))
        if is_killed:
            await scheduler.kill()
            scheduler = world.start()
        await asyncio.sleep(300)
        assert len(started(world)) == asked
        await wish(world, "resume")
        await world.until_complete(scheduler, seconds=300)
        await scheduler.stop()

    world = scene(act)

    assert pages_of(world) == {"/": 1, **{page.url.removeprefix(f"http://{SITE}"): 1 for page in PAGES}}


def test_a_paused_run_does_not_hold_up_another_on_the_same_host() -> None:
    """Its entries leave the queues of their hosts, however many they are."""

    async def act(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        await asyncio.sleep(10)
        await wish(world, "pause")
        await asyncio.sleep(2)
        url = f"http://{SITE}/other"
        world.web.pages[url] = Page(url)
        began = world.clock.monotonic()
        await world.pipeline.discover([url], via="seed", offset=99, from_execution_ids=("other",))
        while url not in world.web.tries:
            assert world.clock.monotonic() < began + 10
            await asyncio.sleep(0.5)
        await scheduler.kill()

    scene(act)


def test_a_blocked_host_gets_no_request_until_it_is_unblocked() -> None:
    """Also by the next owner of the shard, and by an owner that has to read the log."""

    async def act(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        await asyncio.sleep(10)
        await wish(world, "block_host", group=SITE, reason="its owner called")
        await asyncio.sleep(3)
        asked = len(started(world))
        for _ in range(2):
            await asyncio.sleep(60)
            await scheduler.kill()
            world.lose_frontier()
            scheduler = world.start()
        await asyncio.sleep(60)
        assert len(started(world)) == asked
        record = [each for each in world.published(HOSTS) if each.kind == "group"][-1]
        assert (record.is_active, record.blocked_by, record.block_detail) == (
            False,
            "ada",
            "its owner called",
        )
        await wish(world, "unblock_host", group=SITE)
        await world.until_complete(scheduler, seconds=300)
        await scheduler.stop()

    world = scene(act)

    assert len(pages_of(world)) == MANY + 1


def test_a_block_longer_than_the_host_patience_ends_the_run_with_its_reason() -> None:
    """Every run ends; and a later link to what was not tried counts as new."""
    spec = replace(SPEC, host_patience_seconds=120)

    async def act(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        await asyncio.sleep(10)
        await wish(world, "block_host", group=SITE)
        await world.until_complete(scheduler, seconds=300)
        await scheduler.stop()

    world = scene(act, spec=spec)

    untried = set(world.web.pages) - set(world.web.tries)
    assert {world.reasons()[url] for url in untried} == {"host_blocked"}


def test_a_block_expires_by_itself() -> None:
    async def act(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        await asyncio.sleep(5)
        until_ms = round(world.clock.now().timestamp() * 1000) + 60_000
        await wish(world, "block_host", group=SITE, until_ms=until_ms)
        await world.until_complete(scheduler, seconds=300)
        await scheduler.stop()

    world = scene(act)

    gaps = [after - before for before, after in zip(started(world), started(world)[1:], strict=False)]
    assert len(pages_of(world)) == MANY + 1
    assert 55 <= max(gaps) <= 65


def test_a_large_run_is_dropped_at_once_not_at_the_pace_of_its_host() -> None:
    """Four thousand entries of one host with a delay of ten seconds: gone in less than one delay."""
    web = Web({SITE: Host(SITE)}, {f"http://{SITE}/": Page(f"http://{SITE}/")}, (f"http://{SITE}/",))

    async def act(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        urls = [f"http://{SITE}/x{number}" for number in range(4_000)]
        for first in range(0, len(urls), 500):
            await world.pipeline.discover(urls[first : first + 500], page=world.web.starts[0])
        await asyncio.sleep(8)
        await wish(world, "cancel")
        began = world.clock.monotonic()
        counts = await scheduler.scheduler.counts("run")
        assert sum(count.open for count in counts.values()) >= 3_990
        while sum(count.open for count in (await scheduler.scheduler.counts("run")).values()) > 1:
            assert world.clock.monotonic() < began + 10
            await asyncio.sleep(0.1)
        await scheduler.stop()

    world = scene(
        act,
        web=web,
        spec=replace(SPEC, delay_seconds=10.0),
        options=SchedulerOptions(shards=SHARDS, user_agent="Strider/1", lease_seconds=30),
    )

    assert sum(reason == "cancelled" for reason in world.reasons().values()) >= 3_990


@pytest.mark.parametrize("what", ["resume", "cancel"])
@pytest.mark.parametrize(
    "room",
    [
        pytest.param(QueueLimits(entries_per_group=5), id="crowded"),
        pytest.param(QueueLimits(horizon_ms=3_600_000), id="asleep"),
        pytest.param(QueueLimits(entries_per_group=5, horizon_ms=3_600_000), id="both"),
    ],
)
def test_a_command_reaches_parked_entries(what: str, room: QueueLimits) -> None:
    """What is only in the log is open all the same, and a paused run's entries are due never."""
    options = SchedulerOptions(
        shards=SHARDS,
        user_agent="Strider/1",
        lease_seconds=30,
        queue_limits=room,
        refill_interval_seconds=0.5,
    )

    async def act(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        await asyncio.sleep(10)
        await wish(world, "pause")
        await asyncio.sleep(10)
        asked = len(started(world))
        await asyncio.sleep(50)
        assert len(started(world)) == asked
        await wish(world, what)
        await world.until_complete(scheduler, seconds=300)
        await scheduler.stop()

    world = scene(act, options=options)

    untried = set(world.web.pages) - set(world.web.tries)
    assert bool(untried) is (what == "cancel")
    assert {world.reasons()[url] for url in untried} <= {"cancelled"}
    assert latest_states(world) <= {("completed", "settled"), ("failed", "cancelled")}


@pytest.mark.parametrize("at", [9.2, 9.4, 10.2])
def test_a_command_reaches_entries_that_return_to_a_blocked_group(at: float) -> None:
    """It comes back to a queue that is not read for an hour; the run is over at once all the same."""
    pages = [Page(f"/{number}", "broken") for number in range(MANY)]

    async def act(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        await asyncio.sleep(at)
        await wish(world, "block_host", group=SITE)
        await wish(world, "cancel")
        await world.until_complete(scheduler, seconds=60)
        await scheduler.stop()

    calm = BreakerLimits(failures=0, refusals=0)  # a tripped breaker would have nothing under way
    options = SchedulerOptions(shards=SHARDS, user_agent="Strider/1", lease_seconds=30, breaker=calm)
    world = scene(act, web=a_site(*pages), options=options)

    untried = set(world.web.pages) - set(world.web.tries)
    assert {world.reasons()[url] for url in untried} == {"cancelled"}
