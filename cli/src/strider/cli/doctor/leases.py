"""Check that the fetchers which run can read ahead whatever the schedulers may lease.

A fetcher reads a number of requests ahead, and starts them by shares of its places. What is leased beyond
that lies unread behind the requests of others until its lease ends, whosever it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from strider.cli.output import counted
from strider.fetcher.settings import FetcherSettings
from strider.fetcher.topology import loop_settings
from strider.localstack.plan.services import STACK_VARIABLES
from strider.runtime.settings.loader import SettingsError, load_settings
from strider.scheduler.settings import SchedulerSettings

from .checks import CheckFinding, CheckStatus

UNEVEN_PARTS: Final = 4, 5
"""Part of what the fetchers read ahead that leases may fill: shards are not equally busy."""


def leases_finding(environment: Mapping[str, str], *, fetchers: int) -> CheckFinding:
    """Compare the leases of all shards with what the running fetchers read ahead."""
    known = {name: value for name, value in environment.items() if name not in STACK_VARIABLES}
    try:
        leases = _most_leases(load_settings(SchedulerSettings, known).settings)
        ahead = _read_ahead(load_settings(FetcherSettings, known).settings)
    except SettingsError:
        return _finding(CheckStatus.WARNING, "not checked: the settings above are invalid")
    per_fetcher = ahead * UNEVEN_PARTS[0] // UNEVEN_PARTS[1]
    detail = f"up to {leases} leases for {counted(fetchers, 'fetcher')}, {per_fetcher} each"
    if not fetchers or leases <= fetchers * per_fetcher:
        return _finding(CheckStatus.OK, detail)
    needed = -(-leases // per_fetcher)
    return _finding(
        CheckStatus.WARNING,
        f"{detail}: requests of one sender may wait unread behind those of another",
        f"run {counted(needed, 'fetcher')}, or lower SCHEDULER_IN_FLIGHT_PER_SHARD",
    )


def _finding(status: CheckStatus, detail: str, remedy: str = "") -> CheckFinding:
    return CheckFinding("reachability", "leases", status, detail, remedy)


def _most_leases(settings: SchedulerSettings) -> int:
    """Return the leases of all shards; runs of owners may have a quarter more than the setting."""
    return settings.run.shards * settings.in_flight_per_shard * 5 // 4


def _read_ahead(settings: FetcherSettings) -> int:
    loop = loop_settings(concurrency=settings.concurrency, max_deadline_seconds=settings.max_deadline_seconds)
    return loop.buffer_messages
