"""Hosts of a domain in a run: counted by markers, which are all that survives a restart."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from strider.frontier.models import EntryLookupResult, LookupStatus
from strider.scheduler.core.budgets.ledger import BudgetKey
from strider.scheduler.core.hosts.run_hosts import HostQuestion, RunHost, RunHosts, run_host_of

KEY = BudgetKey("run", "spec")


def a_host(number: int, key: BudgetKey = KEY) -> RunHost:
    about = run_host_of(key, f"h{number}.wild.test")
    assert about is not None
    return about


class Store:
    """What is marked as seen."""

    def __init__(self) -> None:
        self.marked: set[tuple[str, int]] = set()
        self.lookups = 0

    def decide(self, hosts: RunHosts, abouts: Sequence[RunHost], *, writes: bool = True) -> list[str]:
        """Decide about some hosts as a handler does."""
        asked = hosts.questions(abouts)
        found = self._find(asked)
        further = hosts.refinements(asked, found)
        hosts.learn([*asked, *further], [*found, *self._find(further)])
        refused = [hosts.admit(about) for about in abouts]
        if writes:
            admitted = [about for about, why in zip(abouts, refused, strict=True) if not why]
            self.marked |= {(each.seen_scope, each.fingerprint) for each in hosts.markers(admitted)}
            hosts.mark_written(admitted)
        return refused

    def _find(self, asked: Sequence[HostQuestion]) -> list[EntryLookupResult]:
        self.lookups += len(asked)
        statuses = [
            LookupStatus.SEEN
            if (each.lookup.seen_scope, each.lookup.fingerprint) in self.marked
            else LookupStatus.UNKNOWN
            for each in asked
        ]
        return [EntryLookupResult(status) for status in statuses]


@pytest.mark.parametrize("limit", [1, 2, 7, 8, 100])
def test_the_limit_holds_across_restarts(limit: int) -> None:
    store, admitted = Store(), []
    for number in range(limit + 20):
        [refused] = store.decide(RunHosts(limit), [a_host(number)])
        admitted += [] if refused else [number]

    again = store.decide(RunHosts(limit), [a_host(number) for number in range(limit + 20)])

    assert admitted == list(range(limit))
    assert [not refused for refused in again] == [number < limit for number in range(limit + 20)]
    assert again[-1] == f"{limit} hosts of wild.test"


def test_what_was_not_written_is_written_by_a_repetition() -> None:
    """A message is handled again where writing failed; else a restart would not know these hosts."""
    store, hosts = Store(), RunHosts(2)
    store.decide(hosts, [a_host(1), a_host(2)], writes=False)
    store.decide(hosts, [a_host(1), a_host(2)])

    assert store.decide(RunHosts(2), [a_host(1), a_host(2), a_host(3)]) == ["", "", "2 hosts of wild.test"]


def test_each_crawl_spec_of_a_run_and_each_run_counts_for_itself() -> None:
    store = Store()
    keys = [KEY, BudgetKey("run", "other"), BudgetKey("other", "spec")]

    assert [store.decide(RunHosts(1), [a_host(number, key)]) for number, key in enumerate(keys)] == [[""]] * 3


@pytest.mark.parametrize("host", ["wild.test", "www.wild.test", "127.0.0.1", "localhost"])
def test_a_domain_and_its_www_do_not_count(host: str) -> None:
    assert run_host_of(KEY, host) is None


def test_known_hosts_are_not_looked_up_again() -> None:
    store, hosts = Store(), RunHosts(1_000)
    store.decide(hosts, [a_host(number) for number in range(50)])
    before = store.lookups
    store.decide(hosts, [a_host(number) for number in range(50)])

    assert before <= 50 + 11
    assert store.lookups == before
