"""Labels under which events are counted, and the counts of a host. Pure.

A host has three counts: in total, in the hour of its latest event, and in the hour before that. The hours are
those of the events' own timestamps (UTC, tumbling), so that a backlog that is read later gives the same
numbers. Knows nothing of topics, of Faust or of where counts are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypedDict

from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import FetchCompleted, PageSettled

SETTLED_PREFIX: Final = "settled:"
HOUR_MS: Final = 3_600_000


class HostCounts(TypedDict):
    """Counts of one host by label; a plain dictionary, because the table stores it as JSON."""

    total: dict[str, int]
    hour: int
    """The hour of the latest event, in hours since 1970."""
    this_hour: dict[str, int]
    hour_before: dict[str, int]


def fetch_label(event: FetchCompleted) -> str:
    """Return the label of a request: its outcome, with its kind for anything but a page."""
    return event.outcome if event.kind == RequestKind.PAGE else f"{event.kind}:{event.outcome}"


def settlement_label(event: PageSettled) -> str:
    """Return the label of a settled page."""
    return f"{SETTLED_PREFIX}{event.verdict}"


def hour_of(timestamp_ms: int, *, now_ms: int) -> int:
    """Return the hour of an event; one from the future counts for the current hour."""
    return min(timestamp_ms, now_ms) // HOUR_MS


def add_count(previous: HostCounts | None, label: str, *, hour: int) -> HostCounts:
    """Return the counts with one more event of an hour; the given counts are not changed."""
    if previous is None:
        return HostCounts(total={label: 1}, hour=hour, this_hour={label: 1}, hour_before={})
    total = _increment(previous["total"], label)
    age = previous["hour"] - hour
    if age < 0:
        before = previous["this_hour"] if age == -1 else {}
        return HostCounts(total=total, hour=hour, this_hour={label: 1}, hour_before=before)
    return HostCounts(
        total=total,
        hour=previous["hour"],
        this_hour=_increment(previous["this_hour"], label) if age == 0 else previous["this_hour"],
        hour_before=_increment(previous["hour_before"], label) if age == 1 else previous["hour_before"],
    )


def count_requests(labels: Mapping[str, int]) -> int:
    """Return the number of requests; settled pages are not requests."""
    return sum(count for label, count in labels.items() if not label.startswith(SETTLED_PREFIX))


def is_expired(counts: HostCounts, *, hour: int, keep_hours: int) -> bool:
    """Whether a host had no event for so long that its counts may be deleted."""
    return hour - counts["hour"] > keep_hours


def keep_busiest(busiest_hosts: Mapping[str, int], *, host: str, requests: int, most: int) -> dict[str, int]:
    """Return the hosts with the most requests, given that a host's number only grows."""
    offered = {**busiest_hosts, host: requests}
    if len(offered) > most:
        del offered[min(offered, key=offered.__getitem__)]
    return offered


def _increment(counts: Mapping[str, int], label: str) -> dict[str, int]:
    return {**counts, label: counts.get(label, 0) + 1}
