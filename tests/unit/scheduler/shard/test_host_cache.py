"""Caches of a shard stay bounded, in size and in cost."""

from __future__ import annotations

import tracemalloc

import pytest

from strider.politeness.robots.freshness import OriginRobots
from strider.scheduler.core.hosts.host_state import HostGroup, new_host_group
from strider.scheduler.core.hosts.robots import NO_ROBOTS, parse_robots
from strider.scheduler.shard.host_cache import EVICTION_SCAN, PARSED_DIVISOR, HostGroupCache, RobotsCache


def a_cache(*, most: int) -> HostGroupCache:
    return HostGroupCache(delay_seconds=1.0, most=most)


def test_groups_that_can_be_learnt_again_go_first() -> None:
    shelf = a_cache(most=2)
    shelf.put(HostGroup("slow.test", 1000, robots_delays_ms={"http://slow.test": 9000}))
    for number in range(5):
        shelf.put(new_host_group(f"h{number}.test", delay_seconds=1.0))

    assert set(shelf) == {"slow.test", "h4.test"}


def test_groups_that_must_stay_cost_no_look_at_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many hosts have a delay of their own, each page would cost a walk past all of them."""
    looks = 0

    def is_default(group: HostGroup) -> bool:
        nonlocal looks
        looks += 1
        return not group.robots_delays_ms

    monkeypatch.setattr(HostGroup, "is_default", property(is_default))
    shelf = a_cache(most=10)
    for number in range(500):
        shelf.put(HostGroup(f"h{number}.test", 1000, robots_delays_ms={"http://h.test": 9000}))

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
