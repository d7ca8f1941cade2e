"""Cache of a shard's host groups and robots.txt rules.

Bounded: what can be obtained again is evicted. An evicted robots.txt costs one request; a group leaves with
the robots.txt that its crawl delay is from, so that no page is requested before both are known again. A group
with a block stays, until that has been over for an hour.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Final

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import RobotsState
from strider.contracts.generated.events import CrawlSpecDeclared, HostRecorded
from strider.crawl.runs.control import ManualBlock
from strider.frontier.models import HostGroupState
from strider.scheduler.core.hosts.host_state import (
    HostGroup,
    apply_patience,
    host_group_to_record,
    new_host_group,
)
from strider.scheduler.core.hosts.overrides import SourceOverrides
from strider.scheduler.core.hosts.robots import NO_ROBOTS, CachedRobots

EVICTION_SCAN: Final = 8
"""Groups examined for one new group, so that its cost does not grow with their number."""

PARSED_DIVISOR: Final = 16
"""One part in this many of the texts, by length, is kept parsed."""

SyncedState = tuple[int | None, int | None, int | None, int, int]
"""Delay and least delay, requests in flight, start and end of the block."""
RecordedState = tuple[int, int, int, str, int, ManualBlock]


class HostGroupCache:
    """Host groups, with what the working set and the log know of each."""

    def __init__(
        self,
        *,
        delay_seconds: float,
        most: int,
        sources: SourceOverrides | None = None,
        now_ms: Callable[[], int] = int,
        on_evicted: Callable[[Iterable[str]], object] = tuple,
    ) -> None:
        """Create the cache; `on_evicted` is called with the origins whose crawl delays left with a group."""
        self._delay_seconds = delay_seconds
        self._most = most
        self._now_ms = now_ms
        self._on_evicted = on_evicted
        self.kept: Container[str] = ()
        """Groups that are not evicted."""
        self._sources = sources or SourceOverrides()
        self._groups: OrderedDict[str, HostGroup] = OrderedDict()
        self._synced: dict[str, SyncedState] = {}
        self._recorded: dict[str, RecordedState] = {}

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of cached groups."""
        return iter(self._groups)

    def __contains__(self, name: str) -> bool:
        """Whether a group is cached."""
        return name in self._groups

    def get(self, name: str) -> HostGroup:
        """Return a group with its current overrides; a new one where it is not cached."""
        group = self._groups.get(name) or new_host_group(name, delay_seconds=self._delay_seconds)
        overrides = self._sources.get(name)
        return group if overrides == group.overrides else replace_fields(group, overrides=overrides)

    def put(self, group: HostGroup) -> None:
        """Store a group."""
        self._groups[group.name] = group
        self._groups.move_to_end(group.name)
        if len(self._groups) > self._most:
            self._evict()

    def apply_patience(self, name: str, spec: CrawlSpecDeclared) -> HostGroup:
        """Note the host patience of a crawl spec in a group, and return that."""
        before = self.get(name)
        after = apply_patience(before, spec)
        if after != before or name not in self._groups:
            self.put(after)
        return after

    def states_to_sync(
        self, names: Iterable[str], *, now_ms: int, rebuilt_at_ms: int = 0
    ) -> list[HostGroupState]:
        """Return the states of those groups that the working set does not have yet."""
        states = []
        for name in dict.fromkeys(names):
            group = self.get(name)
            if self._synced.get(name) != _synced_state(group, now_ms):
                states.append(group_state_of(group, now_ms=now_ms, rebuilt_at_ms=rebuilt_at_ms))
        return states

    def mark_synced(self, states: Iterable[HostGroupState]) -> None:
        """Mark states as known to the working set."""
        for state in states:
            if state.group in self._groups:
                self._synced[state.group] = (
                    state.delay_ms,
                    state.least_delay_ms,
                    state.max_in_flight,
                    state.blocked_since_ms,
                    state.blocked_until_ms,
                )

    def mark_unsynced(self, names: Iterable[str] | None = None) -> None:
        """Mark groups, or all of them, as unknown to the working set."""
        if names is None:
            self._synced.clear()
            return
        for name in names:
            self._synced.pop(name, None)

    def records_to_write(self, names: Iterable[str], *, now_ms: int, epoch: int) -> list[HostRecorded]:
        """Return the records of those groups that differ from the log."""
        default = _recorded_state(new_host_group("", delay_seconds=self._delay_seconds))
        news = []
        for name in dict.fromkeys(names):
            group = self.get(name)
            if self._recorded.get(name, default) != _recorded_state(group):
                news.append(host_group_to_record(group, now_ms=now_ms, epoch=epoch))
        return news

    def mark_recorded(self, names: Iterable[str]) -> None:
        """Mark groups as written to the log."""
        for name in names:
            if name in self._groups:
                self._recorded[name] = _recorded_state(self._groups[name])

    def mark_unrecorded(self, names: Iterable[str]) -> None:
        """Mark groups as unknown to the log."""
        for name in names:
            self._recorded.pop(name, None)

    def _evict(self) -> None:
        """Examine a few of the oldest groups; those that have to stay become the youngest."""
        now_ms = self._now_ms()
        for _ in range(EVICTION_SCAN):
            name, group = next(iter(self._groups.items()))
            if group.forgettable_from_ms <= now_ms and name not in self.kept:
                del self._groups[name]
                self._synced.pop(name, None)
                self._recorded.pop(name, None)
                self._on_evicted(group.robots_delays_ms)
                if len(self._groups) <= self._most:
                    return
            else:
                self._groups.move_to_end(name)


class RobotsCache:
    """Robots.txt by origin: the texts of many, parsed rules of the most recently used."""

    def __init__(self, *, most_characters: int) -> None:
        self._most_characters = most_characters
        self._characters = 0
        self._robots: OrderedDict[str, CachedRobots] = OrderedDict()
        self._parsed: OrderedDict[str, int] = OrderedDict()
        """Origins whose text may be parsed, with its cost; the latest last."""
        self._parsed_characters = 0

    def get(self, origin: str) -> CachedRobots:
        """Return the robots.txt of an origin."""
        rules = self._robots.get(origin)
        if rules is None:
            return NO_ROBOTS
        self._robots.move_to_end(origin)
        self._limit_parsed(origin, rules)
        return rules

    def has_unreachable(self) -> bool:
        """Whether the robots.txt of any origin cannot be fetched."""
        return any(each.origin_state.state is RobotsState.UNREACHABLE for each in self._robots.values())

    def put(self, origin: str, robots: CachedRobots) -> None:
        """Store a robots.txt, and evict the least recently used ones."""
        if (before := self._robots.pop(origin, None)) is not None:
            self._characters -= before.memory_cost
        self._robots[origin] = robots
        self._characters += robots.memory_cost
        self._limit_parsed(origin, robots)
        while self._characters > self._most_characters and len(self._robots) > 1:
            name, evicted = self._robots.popitem(last=False)
            self._characters -= evicted.memory_cost
            self._parsed_characters -= self._parsed.pop(name, 0)

    def discard(self, origins: Iterable[str]) -> None:
        """Drop the robots.txt of origins."""
        for origin in origins:
            if (dropped := self._robots.pop(origin, None)) is not None:
                self._characters -= dropped.memory_cost
                self._parsed_characters -= self._parsed.pop(origin, 0)

    def _limit_parsed(self, origin: str, robots: CachedRobots) -> None:
        """Drop the parsed rules of other origins: they take a dozen times their text, and can be parsed
        again.
        """
        self._parsed_characters += robots.memory_cost - self._parsed.pop(origin, 0)
        self._parsed[origin] = robots.memory_cost
        while self._parsed_characters > self._most_characters // PARSED_DIVISOR and len(self._parsed) > 1:
            name, cost = self._parsed.popitem(last=False)
            self._parsed_characters -= cost
            self._robots[name].rules.clear_cache()


def group_state_of(group: HostGroup, *, now_ms: int, rebuilt_at_ms: int = 0) -> HostGroupState:
    """Return the state for the working set; a rebuild counts as a request that has just started."""
    delay_ms, least_delay_ms, max_in_flight, since_ms, until_ms = _synced_state(group, now_ms)
    return HostGroupState(
        group.name,
        delay_ms,
        max_in_flight=max_in_flight,
        blocked_until_ms=until_ms,
        least_delay_ms=least_delay_ms,
        blocked_since_ms=since_ms,
        started_at_ms=rebuilt_at_ms,
    )


def _synced_state(group: HostGroup, now_ms: int) -> SyncedState:
    period_ms = group.block_period_ms(now_ms)
    least_delay_ms = group.least_delay_ms if group.knows_robots else None
    return group.delay_override_ms, least_delay_ms, group.max_in_flight_override, *period_ms


def _recorded_state(group: HostGroup) -> RecordedState:
    back_off, breaker = group.back_off, group.breaker
    return (
        group.delay_ms,
        back_off.until_ms,
        back_off.count,
        breaker.state,
        breaker.changed_at_ms,
        group.manual_block,
    )
