"""Per-site overrides take precedence over crawl specs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest

from strider.contracts.generated.events import SourceSaved
from strider.contracts.generated.topics import SOURCES
from strider.messaging.effects import Publish
from strider.messaging.inprocess import simulate
from strider.scheduler.core.hosts.host_state import apply_robots_delay, new_host_group
from strider.scheduler.core.hosts.overrides import HostOverrides, SourceOverrides, names_of_source
from tests.processor_cost import assert_cheap
from tests.unit.scheduler.simulation.web import Host, Page, Web
from tests.unit.scheduler.simulation.world import SPEC, SimulatedWorld


def a_source(name: str = "s", url: str = "https://www.a.test/start", **more: object) -> SourceSaved:
    return SourceSaved(**{"source_id": name, "name": name, "url": url, **more})  # type: ignore[arg-type]  # words


def sources(*saved: SourceSaved, by_domain: bool = False) -> SourceOverrides:
    made = SourceOverrides(by_domain=by_domain)
    for each in saved:
        made.apply(each.source_id, each)
    return made


def test_an_older_version_never_replaces_a_newer_one() -> None:
    """Nor brings a source back that was deleted; records without a version apply as they come."""
    known = sources(
        a_source(delay_seconds=3.0, version=3),
        a_source(delay_seconds=2.0, version=2),
        a_source("t", "https://t.test/", delay_seconds=1.0),
        a_source("t", "https://t.test/", delay_seconds=4.0),
    )
    assert known.get("www.a.test") == HostOverrides(3_000, 1)
    assert known.get("t.test") == HostOverrides(4_000, 1)

    known.apply("s", None)
    known.apply("s", a_source(version=3, delay_seconds=3.0))

    assert known.get("www.a.test") is None


SLOW = a_source(delay_seconds=5.0)


@pytest.mark.req("S3.21.10")
@pytest.mark.parametrize(
    ("source", "group", "manners"),
    [
        pytest.param(SLOW, "www.a.test", HostOverrides(5_000, 1), id="the host of its start"),
        pytest.param(SLOW, "shop.a.test", None, id="not the next host"),
        pytest.param(SLOW, "a.test", None, id="nor the domain"),
        pytest.param(
            a_source(start_urls=("https://b.test/",)), "b.test", HostOverrides(None, 1), id="more starts"
        ),
        pytest.param(
            a_source(domains=("A.test.",), max_concurrent_requests=4),
            "shop.a.test",
            HostOverrides(None, 4),
            id="a domain that it names",
        ),
        pytest.param(
            a_source(delay_seconds=-1.0), "www.a.test", HostOverrides(None, 1), id="a delay that is none"
        ),
        pytest.param(
            a_source(delay_seconds=1e12), "www.a.test", HostOverrides(86_400_000, 1), id="an absurd delay"
        ),
        pytest.param(a_source(url="nonsense", max_concurrent_requests=-3), "", None, id="no URL"),
    ],
)
def test_a_source_is_about_its_hosts(source: SourceSaved, group: str, manners: HostOverrides | None) -> None:
    assert sources(source).get(group) == manners


def test_where_groups_are_domains_a_source_is_about_that_of_its_start() -> None:
    assert sources(SLOW, by_domain=True).get("a.test") == HostOverrides(5_000, 1)


def test_of_several_sources_the_most_careful_holds() -> None:
    """And of those that are left, when one goes."""
    quick = a_source("q", delay_seconds=0.5, max_concurrent_requests=3)
    both = sources(quick, SLOW)
    assert both.get("www.a.test") == HostOverrides(5_000, 1)

    assert both.apply("s", None) == {"www.a.test"}

    assert both.get("www.a.test") == HostOverrides(500, 3)
    both.apply("q", None)
    assert both.get("www.a.test") is None


@pytest.mark.req("S3.21.10")
@pytest.mark.req("S4.8.6", part="delay and concurrent requests of a source")
def test_a_source_stands_for_crawl_specs_but_not_for_robots() -> None:
    """It may ask for less than the deployment does; robots.txt is the site's own word."""
    group = new_host_group("www.a.test", delay_seconds=1)

    quick = replace(group, overrides=HostOverrides(200, 4))
    asked = apply_robots_delay(quick, "https://www.a.test", 3.0)

    assert [each.delay_ms for each in (group, quick, asked)] == [1_000, 200, 3_000]
    assert [each.max_in_flight_override for each in (group, quick)] == [None, 4]
    assert replace(group, overrides=HostOverrides(None, 2)).delay_ms == 1_000


HOST = "www.a.test"


def a_list() -> Web:
    start = f"http://{HOST}/"
    pages = {f"{start}{number}": Page(f"{start}{number}") for number in range(60)}
    return Web({HOST: Host(HOST)}, {start: Page(start, links=tuple(pages)), **pages}, (start,))


def gaps(world: SimulatedWorld, *, since: float = 0.0) -> list[float]:
    begun = sorted(visit.began for visit in world.web.log if visit.began >= since)
    return [later - earlier for earlier, later in pairwise(begun)]


@pytest.mark.req("S3.21.10")
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_source_that_is_saved_during_a_crawl_holds_at_once(is_killed: bool) -> None:
    """And the next owner has read it before anything is requested."""

    async def scenario() -> None:
        world = SimulatedWorld(a_list(), spec=replace(SPEC, delay_seconds=1.0))
        await world.begin()
        scheduler = world.start()
        await asyncio.sleep(12)
        assert max(gaps(world)) < 4
        saved = a_source(url=f"http://{HOST}/", delay_seconds=6.0)
        await world.pipeline.publisher.publish([Publish(SOURCES, saved)])
        if is_killed:
            await scheduler.kill()
            world.lose_frontier()
            scheduler = world.start()
        await asyncio.sleep(5)
        since = world.clock.monotonic()
        await asyncio.sleep(120)
        assert min(gaps(world, since=since)) >= 6
        assert max(gaps(world, since=since)) < 9
        await world.pipeline.publisher.publish([Publish(SOURCES, replace(saved, delay_seconds=0.5))])
        await asyncio.sleep(8)
        since = world.clock.monotonic()
        await world.until_complete(scheduler)
        assert 0.5 <= min(gaps(world, since=since)) < 1.0
        await scheduler.stop()

    simulate(scenario())


@pytest.mark.parametrize("url", ["http://[1", "www.a.test", "", "ftp://www.a.test/", "http://", "x" * 10_000])
def test_a_text_that_is_no_url_has_no_host_and_stops_nothing(url: str) -> None:
    """Any owner may save a source, and every scheduler reads all of them."""
    source = SourceSaved("source", "source", url, start_urls=("https://www.b.test",))

    assert names_of_source(source) == {"www.b.test"}


def test_many_sources_are_applied_in_time_that_grows_with_their_number() -> None:
    """Ten thousand of one host, or of a host each: they are applied between two heartbeats."""

    def apply_all() -> SourceOverrides:
        overrides = SourceOverrides()
        for number in range(10_000):
            overrides.apply(f"own-{number}", SourceSaved("own", "own", f"http://www.{number}.test/"))
            shared = SourceSaved("shared", "shared", f"http://www.shared.test/{number}", delay_seconds=number)
            overrides.apply(f"shared-{number}", shared)
        return overrides

    overrides = assert_cheap(apply_all, yardsticks=400)
    strictest = overrides.get("www.shared.test")
    assert strictest is not None
    assert strictest.delay_ms == 9_999_000
    assert overrides.get("www.9999.test") is not None
