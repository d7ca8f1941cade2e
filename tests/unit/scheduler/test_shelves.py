"""What a shard's owner keeps in memory stays bounded, and so does what keeping it costs."""

from __future__ import annotations

import tracemalloc

import pytest

from strider.politeness.robots_state import OriginRobots
from strider.scheduler.core import NO_RULES, Group, rules_of
from strider.scheduler.core.groups import new_group
from strider.scheduler.topology.shelves import LOOKED_AT, PARSED_PART, GroupShelf, RobotsShelf


def a_shelf(*, most: int) -> GroupShelf:
    return GroupShelf(delay_seconds=1.0, most=most)


def test_groups_that_can_be_learnt_again_go_first() -> None:
    shelf = a_shelf(most=2)
    shelf.put(Group("slow.test", 1000, robots_ms={"http://slow.test": 9000}))
    for number in range(5):
        shelf.put(new_group(f"h{number}.test", delay_seconds=1.0))

    assert set(shelf) == {"slow.test", "h4.test"}


def test_groups_that_must_stay_cost_no_look_at_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many hosts have a delay of their own, each page would cost a walk past all of them."""
    looks = 0

    def is_plain(group: Group) -> bool:
        nonlocal looks
        looks += 1
        return not group.robots_ms

    monkeypatch.setattr(Group, "is_plain", property(is_plain))
    shelf = a_shelf(most=10)
    for number in range(500):
        shelf.put(Group(f"h{number}.test", 1000, robots_ms={"http://h.test": 9000}))

    assert len(list(shelf)) == 500
    assert looks <= 490 * LOOKED_AT


def test_only_the_rules_that_were_asked_about_last_stay_parsed() -> None:
    """Parsed they take a dozen times their text: a crawl of many hosts would fill the memory with them."""
    text = "User-agent: *\n" + "\n".join(f"Disallow: /{number}" for number in range(100))
    cost = rules_of(OriginRobots(text=text)).cost
    shelf = RobotsShelf(most_characters=cost * PARSED_PART * 2)
    names = [f"http://h{number}.test" for number in range(20)]
    kept = {name: rules_of(OriginRobots(text=text)) for name in names}
    for name, rules in kept.items():
        shelf.put(name, rules)

    verdicts = [shelf.get(name).robots.allows(f"{name}/1", "Strider") for name in [*names, names[0]]]

    assert verdicts == [False] * 21
    assert [name for name in names if kept[name].robots._by_agent] == [names[0], names[19]]


@pytest.mark.req("S3.3.4", part="local: the rules of a thousand hosts take less than 2.5 MB")
def test_the_rules_of_a_local_crawl_take_a_megabyte_or_two_and_never_more() -> None:
    """A thousand hosts with a kilobyte each are kept; of ten times as many the latest are."""
    text = "User-agent: *\n" + "\n".join(f"Disallow: /folder-{number}/" for number in range(50))
    shelf = RobotsShelf(most_characters=2_000_000)
    tracemalloc.start()
    try:
        for number in range(10_000):
            shelf.put(f"http://h{number}.test", rules_of(OriginRobots(text=f"{text}\n# {number}")))
            if number == 999:
                first = shelf.get("http://h0.test")
                local, _ = tracemalloc.get_traced_memory()
        most, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert first is not NO_RULES
    assert shelf.get("http://h9999.test") is not NO_RULES
    assert shelf.get("http://h1.test") is NO_RULES
    assert local < 2_500_000
    assert most < 3_000_000
