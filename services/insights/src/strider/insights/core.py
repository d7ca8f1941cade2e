"""What is counted under which word, and what a host's counts look like after it. Pure.

A host has three counts: over all, in the hour of its latest event, and in the hour before that. The
hours are those of the events' own timestamps (UTC, tumbling), so that a back-log that is read later
gives the same numbers. Knows nothing of topics, of Faust or of where counts are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypedDict

from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import FetchCompleted, PageSettled

SETTLED: Final = "settled:"
HOUR_MS: Final = 3_600_000


class HostCounts(TypedDict):
    """Counts by word of one host; plain, because the table keeps them as JSON."""

    total: dict[str, int]
    hour: int
    """The hour of the latest event, in hours since 1970."""
    this_hour: dict[str, int]
    hour_before: dict[str, int]


def fetch_label(event: FetchCompleted) -> str:
    """Name what came of a request; one for anything but a page says so."""
    return event.outcome if event.kind == RequestKind.PAGE else f"{event.kind}:{event.outcome}"


def settlement_label(event: PageSettled) -> str:
    """Name what became of a page that went round."""
    return f"{SETTLED}{event.verdict}"


def hour_of(timestamp_ms: int, *, now_ms: int) -> int:
    """Tell the hour of an event; one that claims to come from the future belongs to now."""
    return min(timestamp_ms, now_ms) // HOUR_MS


def add_count(known: HostCounts | None, label: str, *, hour: int) -> HostCounts:
    """Count a word that was heard in an hour; what was known stays as it was."""
    if known is None:
        return HostCounts(total={label: 1}, hour=hour, this_hour={label: 1}, hour_before={})
    total = _increment(known["total"], label)
    age = known["hour"] - hour
    if age < 0:
        before = known["this_hour"] if age == -1 else {}
        return HostCounts(total=total, hour=hour, this_hour={label: 1}, hour_before=before)
    return HostCounts(
        total=total,
        hour=known["hour"],
        this_hour=_increment(known["this_hour"], label) if age == 0 else known["this_hour"],
        hour_before=_increment(known["hour_before"], label) if age == 1 else known["hour_before"],
    )


def count_requests(labels: Mapping[str, int]) -> int:
    """Count the requests among words; what became of their pages later is no request."""
    return sum(count for word, count in labels.items() if not word.startswith(SETTLED))


def is_forgotten(counts: HostCounts, *, hour: int, keep_hours: int) -> bool:
    """Say whether nothing came from a host for so long that its counts may go."""
    return hour - counts["hour"] > keep_hours


def keep_busiest(busiest_hosts: Mapping[str, int], *, host: str, requests: int, most: int) -> dict[str, int]:
    """Keep the hosts with the most requests, given that a host's number only grows."""
    offered = {**busiest_hosts, host: requests}
    if len(offered) > most:
        del offered[min(offered, key=offered.__getitem__)]
    return offered


def _increment(counts: Mapping[str, int], word: str) -> dict[str, int]:
    return {**counts, word: counts.get(word, 0) + 1}
