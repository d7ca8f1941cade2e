"""Count open entries that wait for nothing but an unreachable robots.txt, by origin.

An entry waits so while it is queued and the robots.txt of its origin, which its crawl spec obeys, could not
be fetched when it was requested last. Shown to people by `strider crawl`; no decision depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded
from strider.frontier.models import EntryLocation
from strider.politeness.robots.freshness import OriginRobots
from strider.urls import origin_of

from .host_state import HostGroup
from .robots import CachedRobots, is_unreachable, response_text


@dataclass(frozen=True, slots=True)
class RobotsWait:
    """Entries that wait for the robots.txt of one origin."""

    origin: str
    urls: int
    response: str
    """Last status or error class of the robots.txt."""
    since_ms: int
    """First failure in a row."""
    next_request_ms: int
    """When it is requested again; in the past while it is being requested."""
    ends_at_ms: int
    """When the host patience of the last of the entries ends."""


class OriginStates(Protocol):
    """Robots.txt by origin."""

    def get(self, origin: str) -> CachedRobots:
        """Return the robots.txt of an origin."""


class GroupStates(Protocol):
    """Host groups by name."""

    def get(self, name: str) -> HostGroup:
        """Return a host group."""


def robots_waits(
    entries: Iterable[tuple[EntryRecorded, EntryLocation]],
    *,
    robots: OriginStates,
    groups: GroupStates,
    specs: Mapping[str, CrawlSpecDeclared],
    respects_robots: bool = True,
) -> list[RobotsWait] | None:
    """Return the waits of entries by origin; None where one of them does not wait for robots.txt."""
    waits: dict[str, RobotsWait] = {}
    for entry, location in entries:
        origin, spec = origin_of(entry.url), specs.get(entry.crawl_spec_id)
        state = robots.get(origin).origin_state
        if (
            location is not EntryLocation.QUEUED
            or spec is None
            or not is_unreachable(spec, state, respects_robots=respects_robots)
        ):
            return None
        ends_at_ms = max(state.unreachable_since_ms, entry.discovered_at_ms)
        ends_at_ms += spec.host_patience_seconds * 1000
        waits[origin] = _add(waits.get(origin), origin, state, groups.get(entry.group), ends_at_ms)
    return list(waits.values())


def _add(
    before: RobotsWait | None, origin: str, state: OriginRobots, group: HostGroup, ends_at_ms: int
) -> RobotsWait:
    """Add one entry to the wait of its origin."""
    blocked_until_ms = max(group.blocked_until_ms, group.manual_block.until_ms)
    return RobotsWait(
        origin,
        1 if before is None else before.urls + 1,
        response_text(state),
        state.unreachable_since_ms,
        max(state.expires_at_ms, blocked_until_ms),
        ends_at_ms if before is None else max(before.ends_at_ms, ends_at_ms),
    )
