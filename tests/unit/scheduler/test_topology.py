"""Guarantees of the scheduler one by one, on small webs in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from strider.contracts.generated.topics import FRONTIER, HOSTS
from strider.contracts.specs.crawl_specs import effective_depth
from strider.messaging.inprocess import simulate
from strider.scheduler import log_events
from strider.scheduler.loops.release import RESERVE_DIVISOR
from strider.scheduler.options import SchedulerOptions

from .simulation.pipeline import SHARDS
from .simulation.web import Host, Page, Web
from .simulation.world import SPEC, SchedulerInstance, SimulatedWorld

SITE = "www.site.test"


def a_site(*pages: Page, robots: str = "fine", starts: tuple[str, ...] = ("/",)) -> Web:
    """One host, whose pages are named by their paths."""
    made = {page.url: page for page in pages}
    home = {"/": Page("/", links=tuple(page.url for page in pages))}
    named = {_full(path): _named(page) for path, page in (home | made).items()}
    return Web({SITE: Host(SITE, robots)}, named, tuple(map(_full, starts)))


def _full(path: str) -> str:
    return f"http://{SITE}{path}"


def _named(page: Page) -> Page:
    target = _full(page.target) if page.target else ""
    return replace(page, url=_full(page.url), links=tuple(map(_full, page.links)), target=target)


def run(
    world: Callable[[], SimulatedWorld], check: Callable[[SimulatedWorld, SchedulerInstance], Awaitable[None]]
) -> SimulatedWorld:
    """Crawl a web to its end, look at the result, and stop in order."""

    async def scenario() -> SimulatedWorld:
        made = world()
        await made.begin()
        scheduler = made.start()
        await made.until_complete(scheduler)
        await check(made, scheduler)
        made.clock_at_end = made.clock.monotonic()
        await scheduler.stop()
        return made

    return simulate(scenario())


async def nothing(_world: SimulatedWorld, _scheduler: SchedulerInstance) -> None:
    """Look at nothing."""


def pages_of(world: SimulatedWorld) -> dict[str, int]:
    """How often each page was asked for, by path."""
    return {
        url.removeprefix(f"http://{SITE}"): n
        for url, n in world.web.tries.items()
        if not url.endswith("/robots.txt")
    }


def test_a_budget_is_kept_exactly_and_failures_do_not_eat_it() -> None:
    """Twelve pages wanted, of which some are missing: twelve pages come, and the rest gets a decision."""
    pages = [Page(f"/{n}", "missing" if n % 3 == 0 else "fine") for n in range(40)]
    spec = replace(SPEC, max_pages=12, delay_seconds=0.1)

    world = run(lambda: SimulatedWorld(a_site(*pages), spec=spec), nothing)

    fetched = [visit for visit in world.web.log if visit.outcome == "fetched" and "robots" not in visit.url]
    assert len(fetched) == 12
    reasons = world.reasons()
    asked = set(world.web.tries)
    assert {reasons[url] for url in world.web.pages if url not in asked} == {"budget"}


def test_a_seed_that_is_sent_again_is_crawled_again() -> None:
    async def again(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        await world.pipeline.submit(_full("/"))
        await asyncio.sleep(30)
        await world.until_complete(scheduler)

    world = run(lambda: SimulatedWorld(a_site(Page("/a"))), again)

    assert pages_of(world) == {"/": 2, "/a": 1}


def test_a_seed_that_is_delivered_again_is_not() -> None:
    async def redelivered(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        world.pipeline.offset -= 1
        await world.pipeline.submit(_full("/"))
        await asyncio.sleep(30)
        await world.until_complete(scheduler)

    world = run(lambda: SimulatedWorld(a_site(Page("/a"))), redelivered)

    assert pages_of(world) == {"/": 1, "/a": 1}
    assert world.reasons() == {}, "what is delivered again is no other seed"


@pytest.mark.parametrize("seconds", [pytest.param(0, id="at-once"), pytest.param(3, id="while-it-waits")])
def test_a_seed_that_joins_another_is_reported_as_such(seconds: int) -> None:
    """Its URL is crawled once for both, and a search for it finds the reason."""

    async def scenario() -> SimulatedWorld:
        world = SimulatedWorld(a_site(Page("/a")), spec=replace(SPEC, delay_seconds=60))
        await world.begin()
        scheduler = world.start()
        await asyncio.sleep(seconds)
        await world.pipeline.submit(_full("/a"))
        await world.pipeline.submit(_full("/a"))
        await world.until_complete(scheduler)
        await scheduler.stop()
        return world

    world = simulate(scenario())

    assert pages_of(world) == {"/": 1, "/a": 1}
    assert world.reasons()[_full("/a")] == "already_seen"


def test_a_seed_reaches_what_its_url_redirects_to_again() -> None:
    async def again(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        await world.pipeline.submit(_full("/old"))
        await asyncio.sleep(30)
        await world.until_complete(scheduler)

    site = a_site(Page("/old", "moved", target="/new"), Page("/new"), starts=("/old",))
    world = run(lambda: SimulatedWorld(site), again)

    assert pages_of(world) == {"/old": 2, "/new": 2}


@pytest.mark.req("S3.5.4")
def test_nothing_is_requested_during_the_backoff_of_a_host() -> None:
    world = run(lambda: SimulatedWorld(a_site(Page("/a", "limited"), Page("/b"), Page("/c"))), nothing)

    limited = next(visit for visit in world.web.log if visit.outcome == "rate_limited")
    later = [visit.began for visit in world.web.log if visit.began > limited.began]
    assert min(later) >= limited.ended + 7


def test_a_host_that_rests_beyond_the_patience_does_not_hold_up_the_end() -> None:
    """It asks for a day, the crawl has two minutes: what is left of it is closed as unavailable."""
    pages = [Page("/shut", "shut"), *(Page(f"/{n}") for n in range(3))]
    spec = replace(SPEC, host_patience_seconds=120, delay_seconds=30.0)

    world = run(lambda: SimulatedWorld(a_site(*pages, starts=("/shut", "/")), spec=spec), nothing)

    assert pages_of(world)["/shut"] == 1
    assert world.clock_at_end < 600
    assert set(world.reasons().values()) == {"host_unavailable"}


def test_a_host_that_was_pushed_back_stays_so_through_a_crash() -> None:
    """Its block is in the log: losing the working set must not make us impolite."""

    async def scenario() -> None:
        world = SimulatedWorld(a_site(*(Page(f"/{n}", "limited" if n == 0 else "fine") for n in range(4))))
        await world.begin()
        scheduler = world.start()
        while not any(visit.outcome == "rate_limited" for visit in world.web.log):
            await asyncio.sleep(0.1)
        await asyncio.sleep(1)
        await scheduler.kill()
        world.lose_frontier()
        last = world.start()
        await world.until_complete(last)
        await last.stop()

        limited = next(visit for visit in world.web.log if visit.outcome == "rate_limited")
        assert min(v.began for v in world.web.log if v.began > limited.began) >= limited.ended + 7

    simulate(scenario())


def test_hosts_that_do_not_fit_into_memory_are_held_after_a_rebuild_too() -> None:
    """What was under way when the working set was lost is unknown, for every host that waits."""
    hosts = {f"h{n}.test": Host(f"h{n}.test") for n in range(6)}
    pages = {f"http://{name}/{n}": Page(f"http://{name}/{n}", "late") for name in hosts for n in range(3)}

    async def scenario() -> None:
        options = SchedulerOptions(shards=SHARDS, user_agent="Strider", max_cached_groups=1)
        world = SimulatedWorld(Web(hosts, pages, tuple(pages)), options=options)
        await world.begin()
        scheduler = world.start()
        while sum(url in pages for url in world.web.tries) < len(hosts):
            await asyncio.sleep(0.1)
        world.frontier._shards.clear()
        lost_at = world.clock.monotonic()
        await world.until_complete(scheduler)
        await scheduler.stop()

        deadline_seconds = SPEC.request_timeout_seconds
        later = {visit.host: visit.began for visit in reversed(world.web.log) if visit.began > lost_at}
        assert later.keys() == hosts.keys()
        assert min(later.values()) >= lost_at + deadline_seconds

    simulate(scenario())


@pytest.mark.req("S3.8.1", "S3.8.2", "S3.20.9")
@pytest.mark.req("S3.8.6", part="an answer holds for an hour, in the record of the host; no key in Redis")
def test_robots_is_requested_once_an_hour_and_kept_across_restarts() -> None:
    async def restart(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        await scheduler.kill()
        world.lose_frontier()
        second = world.start()
        await world.pipeline.submit(_full("/"))
        await asyncio.sleep(60)
        await world.until_complete(second)
        await asyncio.sleep(3600)
        await world.pipeline.submit(_full("/"))
        await asyncio.sleep(60)
        await world.until_complete(second)
        await second.stop()

    async def scenario() -> None:
        world = SimulatedWorld(a_site())
        await world.begin()
        first = world.start()
        await world.until_complete(first)
        await restart(world, first)

        assert pages_of(world) == {"/": 3}
        assert world.web.tries[_full("/robots.txt")] == 2

    simulate(scenario())


def test_no_more_is_under_way_than_is_allowed() -> None:
    """Release by lag in its thin form: what the pipeline has not settled holds back what comes next."""
    hosts = {f"h{n}.test": Host(f"h{n}.test") for n in range(30)}
    pages = {f"http://{name}/": Page(f"http://{name}/", "late") for name in hosts}
    most = 4

    async def scenario() -> None:
        options = SchedulerOptions(shards=SHARDS, user_agent="Strider", in_flight=most)
        world = SimulatedWorld(Web(hosts, pages, tuple(pages)), options=options)
        await world.begin()
        scheduler = world.start()
        seen = 0
        while len([visit for visit in world.web.log if visit.url in pages]) < len(pages):
            for shard in scheduler.scheduler._shards.all():
                figures = await shard.figures()
                seen = max(seen, figures.leased + figures.in_pipeline)
            await asyncio.sleep(0.5)
        await world.until_complete(scheduler)
        await scheduler.stop()

        assert seen == most + most // RESERVE_DIVISOR, "the seeds are an owner's, whose runs have a reserve"

    simulate(scenario())


def test_requests_that_the_broker_refused_are_published_when_it_is_back() -> None:
    """Their leases stand: waiting for them to run out would cost half a minute for each host."""

    async def scenario() -> None:
        world = SimulatedWorld(a_site(*(Page(f"/{n}") for n in range(5))))
        await world.begin()
        scheduler = world.start()
        while len(world.web.log) < 3:
            await asyncio.sleep(0.05)
        world.broker.set_unavailable("away")
        failed_at = world.clock.monotonic()
        await asyncio.sleep(5)
        world.broker.set_available()
        await world.until_complete(scheduler)
        await scheduler.stop()

        first = min(visit.began for visit in world.web.log if visit.began > failed_at + 5)
        assert first < failed_at + 20
        assert pages_of(world) == {"/": 1, **{f"/{n}": 1 for n in range(5)}}

    simulate(scenario())


def test_an_unknown_spec_is_refused_by_name() -> None:
    async def scenario() -> None:
        world = SimulatedWorld(a_site(), spec=replace(SPEC, crawl_spec_id="another"))
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler)
        await asyncio.sleep(5)
        await scheduler.stop()

        assert world.reasons() == {_full("/"): "unknown_spec"}
        assert world.web.log == []

    simulate(scenario())


def test_the_log_ends_with_every_entry_closed() -> None:
    """It is the truth: a rebuild from it must find nothing to do."""
    site = a_site(Page("/a"), Page("/b", "missing"), Page("/private/x"), robots="denying")

    world = run(lambda: SimulatedWorld(site), nothing)

    last = {entry.url: (entry.state, entry.reason) for entry in world.published(FRONTIER)}
    assert last == {
        _full("/"): ("completed", "settled"),
        _full("/a"): ("completed", "settled"),
        _full("/b"): ("failed", "not_found"),
        _full("/private/x"): ("failed", "robots_denied"),
    }
    assert {(host.kind, host.origin, host.robots_state) for host in world.published(HOSTS)} == {
        ("robots", f"http://{SITE}", "fetched")
    }


def test_a_release_loop_that_dies_is_not_silent() -> None:
    """Its shard would stand still for ever: the process ends, and its restart continues."""

    async def scenario() -> None:
        world = SimulatedWorld(a_site())
        await world.begin()
        scheduler = world.start()
        await asyncio.sleep(2)

        async def broken(**_limits: int) -> None:
            raise ZeroDivisionError

        for shard in scheduler.scheduler._shards.all():
            shard.lease_due_entries = broken
            shard.wake.set()
        await asyncio.wait((scheduler.watch,), timeout=60)

        assert isinstance(scheduler.watch.exception(), ZeroDivisionError)
        await scheduler.kill()

    simulate(scenario())


def test_many_seeds_that_redirect_to_one_page_fetch_it_once() -> None:
    """In whatever order they get there; a seed of any of them that is sent later reaches it again."""
    moved = [Page(f"/old{n}", "moved", target="/new") for n in range(12)]
    starts = tuple(page.url for page in moved)

    async def again(world: SimulatedWorld, scheduler: SchedulerInstance) -> None:
        assert pages_of(world)["/new"] == 1
        await world.pipeline.submit(_full("/old3"))
        await asyncio.sleep(30)
        await world.until_complete(scheduler)

    world = run(lambda: SimulatedWorld(a_site(*moved, Page("/new"), starts=starts)), again)

    assert pages_of(world) == {**dict.fromkeys(starts, 1), "/old3": 2, "/new": 2}


@pytest.mark.req("S0.4.4", "S1.15.6")
@pytest.mark.parametrize(
    ("wanted", "depth", "warnings"),
    [
        pytest.param(0, 3, 0, id="zero-is-the-default"),
        pytest.param(5, 5, 0, id="usual"),
        pytest.param(6, 6, 1, id="deep"),
    ],
)
def test_a_deep_crawl_spec_is_warned_about_once(wanted: int, depth: int, warnings: int) -> None:
    spec = replace(SPEC, max_depth=effective_depth(wanted))
    assert spec.max_depth == depth
    with capture_logs() as lines:
        run(lambda: SimulatedWorld(a_site(Page("/a"), Page("/b")), spec=spec), nothing)

    told = [line for line in lines if line["event"] == log_events.DEEP_CRAWL_ACCEPTED.text]
    assert [line["max_depth"] for line in told] == [depth] * warnings
