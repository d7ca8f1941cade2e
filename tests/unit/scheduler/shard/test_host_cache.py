"""Caches of a shard stay bounded, in size and in cost."""

from __future__ import annotations

import tracemalloc

import pytest

from strider.contracts.generated.enums import RobotsState
from strider.crawl.runs.control import FOREVER_MS, ManualBlock
from strider.politeness.backoff import HostBackoff
from strider.politeness.robots.freshness import OriginRobots
from strider.scheduler.core.hosts.host_state import (
    BLOCK_MEMORY_MS,
    HostGroup,
    apply_robots_delay,
    new_host_group,
)
from strider.scheduler.core.hosts.robots import NO_ROBOTS, parse_robots
from strider.scheduler.shard.host_cache import EVICTION_SCAN, PARSED_DIVISOR, HostGroupCache, RobotsCache
from tests.unit.scheduler.builders import NOW


def a_cache(*, most: int) -> HostGroupCache:
    return HostGroupCache(delay_seconds=1.0, most=most)


def a_blocked_group(name: str, *, until_ms: int) -> HostGroup:
    return HostGroup(name, 1000, back_off=HostBackoff(count=1, until_ms=until_ms, since_ms=1))


def test_blocked_groups_stay_until_their_block_is_long_over() -> None:
    now_ms = [NOW]
    shelf = HostGroupCache(delay_seconds=1.0, most=2, now_ms=lambda: now_ms[0])
    shelf.put(a_blocked_group("blocked.test", until_ms=NOW + 1))
    shelf.put(HostGroup("barred.test", 1000, manual_block=ManualBlock(FOREVER_MS, NOW, "x", "y")))
    for number in range(5):
        shelf.put(new_host_group(f"h{number}.test", delay_seconds=1.0))

    before = set(shelf)
    now_ms[0] += 1 + BLOCK_MEMORY_MS
    shelf.put(new_host_group("last.test", delay_seconds=1.0))

    assert before == {"blocked.test", "barred.test"}
    assert set(shelf) == {"barred.test", "last.test"}


@pytest.mark.fault("A6")
def test_a_group_leaves_with_the_robots_of_its_delay() -> None:
    """Else its pages would be requested without the delay; what the working set has of it stays meanwhile."""
    robots = RobotsCache(most_characters=100_000)
    shelf = HostGroupCache(delay_seconds=1.0, most=10, on_evicted=robots.discard)
    for number in range(500):
        name, origin = f"h{number}.test", f"http://h{number}.test"
        robots.put(origin, parse_robots(OriginRobots(RobotsState.FETCHED, text=f"# {number}")))
        shelf.put(apply_robots_delay(new_host_group(name, delay_seconds=1.0), origin, 9.0))

    known = [number for number in range(500) if robots.get(f"http://h{number}.test") is not NO_ROBOTS]
    states = shelf.states_to_sync(["h0.test", "h499.test"], now_ms=NOW)

    assert known == [number for number in range(500) if f"h{number}.test" in shelf]
    assert len(known) == 10
    assert [state.least_delay_ms for state in states] == [None, 9_000]


def test_groups_that_must_stay_cost_no_look_at_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many hosts are blocked, each page would cost a walk past all of them."""
    looks = 0

    def forgettable_from_ms(group: HostGroup) -> int:
        nonlocal looks
        looks += 1
        return group.back_off.until_ms

    monkeypatch.setattr(HostGroup, "forgettable_from_ms", property(forgettable_from_ms))
    shelf = a_cache(most=10)
    for number in range(500):
        shelf.put(a_blocked_group(f"h{number}.test", until_ms=NOW))

    assert len(list(shelf)) == 500
    assert looks <= 490 * EVICTION_SCAN


def test_only_the_rules_used_last_stay_parsed() -> None:
    """Parsed they take a dozen times their text: a crawl of many hosts would fill the memory with them."""
    text = "User-agent: *\n" + "\n".join(f"Disallow: /{number}" for number in range(100))
    cost = parse_robots(OriginRobots(text=text)).memory_cost
    shelf = RobotsCache(most_characters=cost * PARSED_DIVISOR * 2)
    names = [f"http://h{number}.test" for number in range(20)]
    kept = {name: parse_robots(OriginRobots(text=text)) for name in names}
    for name, rules in kept.items():
        shelf.put(name, rules)

    verdicts = [shelf.get(name).rules.allows(f"{name}/1", "Strider") for name in [*names, names[0]]]

    assert verdicts == [False] * 21
    assert [name for name in names if kept[name].rules._by_agent] == [names[0], names[19]]


@pytest.mark.req("S3.3.4", part="local: the rules of a thousand hosts take less than 2.5 MB")
def test_the_rules_of_a_local_crawl_take_a_megabyte_or_two_and_never_more() -> None:
    """A thousand hosts with a kilobyte each are kept; of ten times as many the latest are."""
    text = "User-agent: *\n" + "\n".join(f"Disallow: /folder-{number}/" for number in range(50))
    shelf = RobotsCache(most_characters=2_000_000)
    tracemalloc.start()
    try:
        for number in range(10_000):
            shelf.put(f"http://h{number}.test", parse_robots(OriginRobots(text=f"{text}\n# {number}")))
            if number == 999:
                first = shelf.get("http://h0.test")
                local, _ = tracemalloc.get_traced_memory()
        most, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert first is not NO_ROBOTS
    assert shelf.get("http://h9999.test") is not NO_ROBOTS
    assert shelf.get("http://h1.test") is NO_ROBOTS
    assert local < 2_500_000
    assert most < 3_000_000
