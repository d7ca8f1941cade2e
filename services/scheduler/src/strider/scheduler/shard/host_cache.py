"""What a shard's owner keeps in memory of its groups and of its origins' robots rules.

Bounded: what can be learnt again goes first. Whoever loses a robots.txt asks for it again, which is
one request; a group that rests or has a delay of its own is never let go.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.events import CrawlSpecDeclared, HostRecorded
from strider.frontier.models import HostGroupState
from strider.scheduler.core import (
    NO_ROBOTS,
    CachedRobots,
    HostGroup,
    ManualBlock,
    SourceOverrides,
    apply_crawl_spec,
    host_group_to_record,
    new_host_group,
)

LOOKED_AT: Final = 8
"""Groups that one new group may cost a look: so its price does not grow with how many there are."""

PARSED_PART: Final = 16
"""Of the texts kept, one in so many (by length) is kept parsed."""

Told = tuple[int, int, int]
Recorded = tuple[int, int, int, str, int, ManualBlock]


class HostGroupCache:
    """Groups, what the working set was told of them, and what the log says of them."""

    def __init__(self, *, delay_seconds: float, most: int, sources: SourceOverrides | None = None) -> None:
        self._delay_seconds = delay_seconds
        self._most = most
        self._sources = sources or SourceOverrides()
        self._groups: OrderedDict[str, HostGroup] = OrderedDict()
        self._told: dict[str, Told] = {}
        self._recorded: dict[str, Recorded] = {}

    def __iter__(self) -> Iterator[str]:
        """Name those that are known."""
        return iter(self._groups)

    def get(self, name: str) -> HostGroup:
        """Give a group, new where it is not known; with what sources want of it now."""
        group = self._groups.get(name) or new_host_group(name, delay_seconds=self._delay_seconds)
        manners = self._sources.get(name)
        return group if manners == group.manners else replace_fields(group, manners=manners)

    def put(self, group: HostGroup) -> None:
        """Keep a group as it is now."""
        self._groups[group.name] = group
        self._groups.move_to_end(group.name)
        if len(self._groups) > self._most:
            self._let_go()

    def heed(self, name: str, spec: CrawlSpecDeclared) -> HostGroup:
        """Keep a group with one more crawl spec in mind."""
        before = self.get(name)
        after = apply_crawl_spec(before, spec, delay_seconds=self._delay_seconds)
        if after != before or name not in self._groups:
            self.put(after)
        return after

    def states_to_sync(
        self, names: Iterable[str], *, now_ms: int, rebuilt_at_ms: int = 0
    ) -> list[HostGroupState]:
        """Give the states of those of these groups that the working set does not know yet."""
        states = []
        for name in dict.fromkeys(names):
            group = self.get(name)
            if self._told.get(name) != _told(group, now_ms):
                states.append(group_state_of(group, now_ms=now_ms, rebuilt_at_ms=rebuilt_at_ms))
        return states

    def mark_synced(self, states: Iterable[HostGroupState]) -> None:
        """Note what the working set knows now."""
        for state in states:
            if state.group in self._groups:
                self._told[state.group] = state.delay_ms, state.max_in_flight, state.blocked_until_ms

    def untold(self, names: Iterable[str] | None = None) -> None:
        """Note that the working set has forgotten these, or everything."""
        if names is None:
            self._told.clear()
            return
        for name in names:
            self._told.pop(name, None)

    def records_to_write(self, names: Iterable[str], *, now_ms: int, epoch: int) -> list[HostRecorded]:
        """Give the records of those of these groups that the log does not know as they are."""
        default = _recorded(new_host_group("", delay_seconds=self._delay_seconds))
        news = []
        for name in dict.fromkeys(names):
            group = self.get(name)
            if self._recorded.get(name, default) != _recorded(group):
                news.append(host_group_to_record(group, now_ms=now_ms, epoch=epoch))
        return news

    def mark_recorded(self, names: Iterable[str]) -> None:
        """Note that the log knows these as they are."""
        for name in names:
            if name in self._groups:
                self._recorded[name] = _recorded(self._groups[name])

    def _let_go(self) -> None:
        """Look at the few oldest; those that matter longer become the youngest."""
        for _ in range(LOOKED_AT):
            name, group = next(iter(self._groups.items()))
            if group.is_default and name not in self._recorded:
                del self._groups[name]
                self._told.pop(name, None)
                if len(self._groups) <= self._most:
                    return
            else:
                self._groups.move_to_end(name)


class RobotsCache:
    """Robots rules by origin: the texts of many, the parsed rules of those that were asked about last."""

    def __init__(self, *, most_characters: int) -> None:
        self._most_characters = most_characters
        self._characters = 0
        self._rules: OrderedDict[str, CachedRobots] = OrderedDict()
        self._open: OrderedDict[str, int] = OrderedDict()
        """Origins whose text may be parsed, with what that costs; the latest last."""
        self._parsed_characters = 0

    def get(self, origin: str) -> CachedRobots:
        """Give what is known of an origin."""
        rules = self._rules.get(origin)
        if rules is None:
            return NO_ROBOTS
        self._rules.move_to_end(origin)
        self._limit_parsed(origin, rules)
        return rules

    def put(self, origin: str, robots: CachedRobots) -> None:
        """Keep what is known; the origins that were not asked about for longest go."""
        if (before := self._rules.pop(origin, None)) is not None:
            self._characters -= before.memory_cost
        self._rules[origin] = robots
        self._characters += robots.memory_cost
        self._limit_parsed(origin, robots)
        while self._characters > self._most_characters and len(self._rules) > 1:
            name, gone = self._rules.popitem(last=False)
            self._characters -= gone.memory_cost
            self._parsed_characters -= self._open.pop(name, 0)

    def _limit_parsed(self, origin: str, robots: CachedRobots) -> None:
        """Have the parsed rules of others go: they take a dozen times their text, which can be read again."""
        self._parsed_characters += robots.memory_cost - self._open.pop(origin, 0)
        self._open[origin] = robots.memory_cost
        while self._parsed_characters > self._most_characters // PARSED_PART and len(self._open) > 1:
            name, cost = self._open.popitem(last=False)
            self._parsed_characters -= cost
            self._rules[name].rules.clear_cache()


def group_state_of(group: HostGroup, *, now_ms: int, rebuilt_at_ms: int = 0) -> HostGroupState:
    """Say of a group what the working set has to know; a rebuild counts as a request that has just begun."""
    delay_ms, places, blocked_until_ms = _told(group, now_ms)
    next_ms = rebuilt_at_ms + delay_ms
    return HostGroupState(
        group.name,
        delay_ms,
        max_in_flight=places,
        blocked_until_ms=blocked_until_ms,
        not_before_ms=next_ms if next_ms > now_ms else 0,
    )


def _told(group: HostGroup, now_ms: int) -> Told:
    return group.delay_ms, group.current_max_in_flight, group.release_blocked_until_ms(now_ms)


def _recorded(group: HostGroup) -> Recorded:
    rest, switch = group.back_off, group.breaker
    return group.delay_ms, rest.until_ms, rest.count, switch.state, switch.changed_at_ms, group.manual_block
