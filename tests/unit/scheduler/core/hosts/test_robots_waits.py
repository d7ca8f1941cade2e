"""Runs that wait for nothing but an unreachable robots.txt."""

from __future__ import annotations

from dataclasses import replace

from strider.contracts.generated.enums import RobotsState
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded
from strider.frontier.models import EntryLocation
from strider.politeness import OriginRobots
from strider.politeness.backoff import HostBackoff
from strider.scheduler.core.hosts.host_state import HostGroup
from strider.scheduler.core.hosts.robots import parse_robots
from strider.scheduler.core.hosts.robots_waits import RobotsWait, robots_waits
from strider.scheduler.shard.host_cache import HostGroupCache, RobotsCache
from tests.unit.scheduler.builders import NOW, a_spec, an_entry

DOWN = OriginRobots(
    state=RobotsState.UNREACHABLE, status=503, unreachable_since_ms=NOW - 5_000, expires_at_ms=NOW + 2_000
)
FIRST, SECOND = "http://www.a.test", "http://www.b.test"


def waits_of(
    *entries: tuple[EntryRecorded, EntryLocation],
    spec: CrawlSpecDeclared | None = None,
    group: HostGroup | None = None,
    respects_robots: bool = True,
    **states: OriginRobots,
) -> list[RobotsWait] | None:
    """Return the waits where www.NAME.test has the state given as NAME, and b's robots.txt is down."""
    robots, groups = RobotsCache(most_characters=10_000), HostGroupCache(delay_seconds=1, most=10)
    for name, state in {"a": DOWN, "b": DOWN, **states}.items():
        robots.put(f"http://www.{name}.test", parse_robots(state))
    if group is not None:
        groups.put(group)
    return robots_waits(
        entries,
        robots=robots,
        groups=groups,
        specs={"spec": spec or a_spec(host_patience_seconds=60)},
        respects_robots=respects_robots,
    )


def queued(url: str) -> tuple[EntryRecorded, EntryLocation]:
    return an_entry(url), EntryLocation.QUEUED


def test_urls_are_counted_by_origin() -> None:
    found = waits_of(queued(f"{FIRST}/1"), queued(f"{SECOND}/1"), queued(f"{FIRST}/2"))

    ends_at_ms = NOW - 1_000 + 60_000  # of the entries' own discovery
    first = RobotsWait(FIRST, 2, "status 503", NOW - 5_000, NOW + 2_000, ends_at_ms)
    assert found == [first, replace(first, origin=SECOND, urls=1)]


def test_the_next_request_waits_for_the_backoff_of_the_host() -> None:
    group = HostGroup("www.a.test", 1_000, back_off=HostBackoff(count=1, until_ms=NOW + 60_000))

    found = waits_of(queued(f"{FIRST}/1"), group=group)

    assert found is not None
    assert found[0].next_request_ms == NOW + 60_000


def test_a_run_with_anything_else_to_do_does_not_wait() -> None:
    """A URL of a site that responds, a request in flight, a page in the pipeline, or robots.txt ignored."""
    waiting = queued(f"{FIRST}/1")
    absent = OriginRobots(state=RobotsState.ABSENT, expires_at_ms=NOW + 1)

    assert waits_of(waiting, queued(f"{SECOND}/1"), b=absent) is None
    assert waits_of(waiting, queued("http://www.unknown.test/")) is None
    for location in (EntryLocation.LEASED, EntryLocation.PIPELINE):
        assert waits_of(waiting, (an_entry(f"{FIRST}/2"), location)) is None
    assert waits_of(waiting, spec=a_spec(respect_robots=False)) is None
    assert waits_of(waiting, respects_robots=False) is None


def test_a_run_without_entries_waits_for_nothing() -> None:
    assert waits_of() == []
