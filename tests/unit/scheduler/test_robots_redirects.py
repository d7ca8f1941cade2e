"""A robots.txt that redirects to that of another host, in virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import pairwise

import pytest

from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import FRONTIER, HOSTS, JOB_COMMANDS, SCHEDULER_DLQ
from strider.contracts.partitioning import shard_of_host
from strider.messaging.effects import Publish
from strider.messaging.inprocess import simulate
from tests.figures import record_figure

from .simulation.checks import TOLERANCE_SECONDS
from .simulation.commands import a_command
from .simulation.pipeline import SHARDS
from .simulation.web import Host, Page, Web
from .simulation.world import SimulatedWorld

VICTIM = "www.victim.test"
VICTIM_ROBOTS = f"http://{VICTIM}/robots.txt"
SITES = tuple(f"www.site{number}.test" for number in range(6))


def a_web(*hosts: Host, paths: tuple[str, ...] = ("/p", "/private/p")) -> Web:
    """Return hosts with the same pages on each; all pages are start URLs but those of the victim."""
    urls = [f"http://{host.name}{path}" for host in hosts for path in paths]
    starts = tuple(url for url in urls if VICTIM not in url)
    return Web({host.name: host for host in hosts}, {url: Page(url) for url in urls}, starts)


async def crawl(world: SimulatedWorld, *, seconds: float = 1_000) -> float:
    """Crawl to the end; return how many seconds it took."""
    await world.begin()
    scheduler = world.start()
    began = world.clock.monotonic()
    await world.until_complete(scheduler, seconds=seconds)
    took = world.clock.monotonic() - began
    await scheduler.stop()
    assert world.published(SCHEDULER_DLQ) == []
    return took


def requested(world: SimulatedWorld) -> set[str]:
    return {visit.url for visit in world.web.log if not visit.url.endswith("/robots.txt")}


def visits(world: SimulatedWorld, host: str) -> list[str]:
    return [visit.url for visit in world.web.log if visit.host == host]


@pytest.mark.fault("A5")
@pytest.mark.req("S5.2.2", part="redirects of robots.txt to another host group")
def test_the_rules_of_another_host_apply_and_are_fetched_by_its_own_lease() -> None:
    """Six sites in all shards name one file: one request, whose rules hold for each of them."""

    async def scenario() -> None:
        sites = [Host(name, robots_target=VICTIM_ROBOTS) for name in SITES]
        world = SimulatedWorld(a_web(*sites, Host(VICTIM, "denying")))
        took = await crawl(world)

        assert {shard_of_host(name, SHARDS) for name in (*SITES, VICTIM)} == set(range(SHARDS))
        assert requested(world) == {f"http://{name}/p" for name in SITES}
        assert world.reasons() == {f"http://{name}/private/p": "robots_denied" for name in SITES}
        assert visits(world, VICTIM) == [VICTIM_ROBOTS]
        assert took < 20
        recorded = [record for record in world.published(HOSTS) if record.origin == f"http://{SITES[0]}"]
        assert (recorded[-1].robots_state, recorded[-1].robots_url) == ("fetched", VICTIM_ROBOTS)
        record_figure(f"robots redirects: {len(SITES)} sites, victim requests={len(visits(world, VICTIM))}")

    simulate(scenario())


def test_the_requests_of_others_keep_the_delay_of_the_host() -> None:
    """While the host is crawled itself, and each site names another origin of it."""

    async def scenario() -> None:
        targets = [f"http://{VICTIM}:{8000 + number}/robots.txt" for number in range(len(SITES))]
        sites = [Host(name, robots_target=target) for name, target in zip(SITES, targets, strict=True)]
        web = a_web(*sites, Host(VICTIM), paths=tuple(f"/p{n}" for n in range(8)))
        world = SimulatedWorld(Web(web.hosts, web.pages, tuple(web.pages)))
        await crawl(world)

        at_victim = sorted((each for each in world.web.log if each.host == VICTIM), key=lambda at: at.began)
        assert len(at_victim) == 8 + 1 + len(SITES)
        for before, after in pairwise(at_victim):
            assert after.began - before.began >= 1.0 - TOLERANCE_SECONDS
            assert after.began >= before.ended - TOLERANCE_SECONDS
        assert requested(world) == set(world.web.pages)

    simulate(scenario())


def test_queries_leave_nothing_behind_and_are_no_entries() -> None:
    async def scenario() -> None:
        sites = [Host(name, robots_target=VICTIM_ROBOTS) for name in SITES]
        world = SimulatedWorld(a_web(*sites, Host(VICTIM)))
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler)
        counts = [shard.keys() for shard in await scheduler.scheduler.run_counts() if shard]
        open_entries = [
            count.open
            for shard in await scheduler.scheduler.run_counts()
            if shard
            for count in shard.values()
        ]
        await scheduler.stop()

        assert {entry.job_id for entry in world.published(FRONTIER)} == {"job"}
        assert set(open_entries) <= {0}, counts

    simulate(scenario())


@pytest.mark.parametrize(
    ("hosts", "closed"),
    [
        pytest.param(
            (Host(SITES[0], robots_target=VICTIM_ROBOTS), Host(VICTIM, "missing")), {}, id="none-there"
        ),
        pytest.param(
            (
                Host(SITES[0], robots_target=f"http://{SITES[1]}/robots.txt"),
                Host(SITES[1], robots_target=f"http://{SITES[0]}/robots.txt"),
            ),
            {},
            id="loop",
        ),
        pytest.param(
            (
                *(
                    Host(SITES[n], robots_target=f"http://{SITES[n + 1]}/robots.txt")
                    for n in range(len(SITES) - 1)
                ),
                Host(SITES[-1], robots_target=VICTIM_ROBOTS),
                Host(VICTIM, "denying"),
            ),
            {f"http://{name}/private/p": "robots_denied" for name in SITES[1:]},
            id="six-in-a-row",
        ),
        pytest.param(
            (Host(SITES[0], robots_target=VICTIM_ROBOTS), Host(VICTIM, "down")),
            {f"http://{SITES[0]}{path}": "robots_unreachable" for path in ("/p", "/private/p")},
            id="fails-there",
        ),
    ],
)
def test_a_redirect_ends_as_the_robots_txt_there(hosts: tuple[Host, ...], closed: dict[str, str]) -> None:
    """Without usable rules after five redirects, or with none at all, everything is allowed (RFC 9309)."""

    async def scenario() -> None:
        world = SimulatedWorld(a_web(*hosts))
        await crawl(world, seconds=4_000)

        assert world.reasons() == closed
        assert requested(world) == set(world.web.starts) - closed.keys()

    simulate(scenario())


def test_a_blocked_host_is_not_requested_for_others() -> None:
    async def scenario() -> None:
        sites = [Host(name, robots_target=VICTIM_ROBOTS) for name in SITES[:2]]
        world = SimulatedWorld(a_web(*sites, Host(VICTIM)))
        blocked: JobEvent = a_command("block_host", group=VICTIM)
        await world.pipeline.publisher.publish([Publish(JOB_COMMANDS, blocked)])
        await crawl(world, seconds=4_000)

        assert visits(world, VICTIM) == []
        assert set(world.reasons().values()) == {"robots_unreachable"}

    simulate(scenario())


def test_killed_schedulers_lose_no_redirect() -> None:
    """A query or a reply that is lost is sent again."""

    async def scenario() -> None:
        sites = [Host(name, robots_target=VICTIM_ROBOTS) for name in SITES]
        world = SimulatedWorld(a_web(*sites, Host(VICTIM, "denying")), lost_outcomes=0.2, seed=7)
        await world.begin()
        for seconds in (0.4, 0.9, 1.3, 2.1, 3.3):
            scheduler = world.start()
            await asyncio.sleep(seconds)
            await scheduler.kill()
        scheduler = world.start()
        await world.until_complete(scheduler, seconds=4_000)
        await scheduler.stop()

        assert requested(world) == {f"http://{name}/p" for name in SITES}
        assert set(world.reasons().values()) == {"robots_denied"}
        assert Counter(visits(world, VICTIM)).keys() == {VICTIM_ROBOTS}

    simulate(scenario())
