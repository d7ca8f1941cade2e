"""Describe the wait of a frontier entry for an unreachable robots.txt. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from strider.cli.output import time_text
from strider.contracts.generated.enums import EntryState, HostRecordKind
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, HostRecorded
from strider.scheduler.core.hosts.robots import is_unreachable, robots_from_record, unreachable_text
from strider.urls import origin_of

from .facts import UrlFact, time_of_ms


def robots_wait_text(
    entry: EntryRecorded,
    spec: CrawlSpecDeclared | None,
    hosts: Sequence[HostRecorded],
    *,
    respects_robots: bool = True,
) -> str:
    """Return which robots.txt an entry waits for, and what follows; empty where it waits for none."""
    origin = origin_of(entry.url)
    record = next((each for each in hosts if each.origin == origin), None)
    if spec is None or record is None or entry.state != EntryState.PENDING:
        return ""
    state = robots_from_record(record)
    if not is_unreachable(spec, state, respects_robots=respects_robots):
        return ""
    blocks = [max(each.blocked_until_ms, each.barred_until_ms) for each in hosts if _is_group(each)]
    again_at_ms = max(state.expires_at_ms, *blocks, 0)
    since_ms = max(state.unreachable_since_ms, entry.discovered_at_ms)
    ends_at_ms = since_ms + spec.host_patience_seconds * 1000
    is_last = ends_at_ms <= again_at_ms
    following = "given up" if is_last else "requested again"
    at = time_text(time_of_ms(ends_at_ms if is_last else again_at_ms))
    return f"{unreachable_text(origin, state)}, {following} not before {at}"


def with_robots_wait(fact: UrlFact, wait: str) -> UrlFact:
    """Return the fact of an entry with the robots.txt that it waits for; unchanged where there is none."""
    if not wait:
        return fact
    return replace(
        fact, text=f"{fact.text} It waits for {wait}.", details={**fact.details, "waits_for": wait}
    )


def _is_group(record: HostRecorded) -> bool:
    return record.kind == HostRecordKind.GROUP
