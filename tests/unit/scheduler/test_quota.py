"""Parts of a budget: never more than there is, and in the end all of it, whatever is repeated or late."""

from __future__ import annotations

import random

import pytest

from strider.contracts.generated.events import JobEvent
from strider.scheduler.core import Grant, PageBudgets
from strider.scheduler.core.budget import Owner
from strider.scheduler.core.quota import Ledger

RUN = "run"


def said(what: str, shard: int, pages: int, *, epoch: int = 1, used: int = 0, limit: int = 10) -> JobEvent:
    counts = {"limit": limit, "epoch": epoch, "used": used}
    return JobEvent(
        "id", what, False, 1, "scheduler", execution_id=RUN, shard=shard, pages=pages, counts=counts
    )


def parts(*events: JobEvent) -> dict[int, int]:
    ledger = Ledger()
    for event in events:
        ledger.take(event)
    return {shard: share.allowed for shard, share in ledger.pool(RUN).shares.items()}


WANT_6, WANT_5 = said("quota_wanted", 0, 6), said("quota_wanted", 1, 5)


@pytest.mark.parametrize(
    ("events", "allowed"),
    [
        pytest.param([WANT_6], {0: 6}, id="what is wanted is given"),
        pytest.param([WANT_6, WANT_6], {0: 6}, id="a repeat gives nothing more"),
        pytest.param([WANT_6, WANT_5], {0: 6, 1: 4}, id="no more than there is"),
        pytest.param(
            [WANT_6, WANT_5, said("quota_returned", 0, 2)],
            {0: 2, 1: 5},
            id="what comes back goes to who waits",
        ),
        pytest.param(
            [said("quota_wanted", 0, 6, epoch=2), said("quota_returned", 0, 0, epoch=1)],
            {0: 6},
            id="an earlier owner is not heard any more",
        ),
        pytest.param([WANT_6, said("quota_returned", 0, 8)], {0: 6}, id="nobody gives back what it has not"),
    ],
)
def test_parts_of_a_budget(events: list[JobEvent], allowed: dict[int, int]) -> None:
    assert parts(*events) == allowed


class Process:
    """A scheduler that owns some shards, reads the log when it is its turn, and may be replaced."""

    def __init__(self, shards: list[int], epoch: int) -> None:
        self.epoch = epoch
        self.shards = shards
        self.budgets = PageBudgets()
        self.read = 0

    def hear(self, log: list[JobEvent], upto: int) -> None:
        for event in log[self.read : upto]:
            self.budgets.ledger.take(event)
        self.read = max(self.read, upto)


class Crawl:
    """Shards with entries, processes with shards, and a log that each reads at its own pace."""

    def __init__(self, seed: int, *, most: int, entries: list[int]) -> None:
        self.random = random.Random(seed)
        self.most, self.now, self.sequence = most, 0.0, 0
        self.waiting = dict(enumerate(entries))
        self.fetched: dict[int, list[str]] = {shard: [] for shard in self.waiting}
        self.in_flight: list[tuple[int, str, str]] = []
        self.closed = 0
        self.log: list[JobEvent] = []
        half = len(entries) // 2
        self.processes = [Process(list(range(half)), 1), Process(list(range(half, len(entries))), 1)]

    def owner(self, process: Process, shard: int) -> Owner:
        return Owner(shard, process.epoch, len(self.waiting))

    def ask(self, process: Process, shard: int) -> None:
        if not self.waiting[shard]:
            return
        self.sequence += 1
        lease, entry = f"{shard}-{process.epoch}-{self.sequence}", f"entry-{self.sequence}"
        grant = process.budgets.reserve(
            RUN, lease, entry, most=self.most, owner=self.owner(process, shard), now=self.now
        )
        if grant is Grant.GIVEN:
            self.waiting[shard] -= 1
            self.in_flight.append((shard, lease, entry))
        elif grant is Grant.USED_UP:
            self.closed += self.waiting[shard]
            self.waiting[shard] = 0

    def finish(self) -> None:
        """Let one request end; every fourth fails, and its entry waits again."""
        if not self.in_flight:
            return
        shard, lease, entry = self.in_flight.pop(self.random.randrange(len(self.in_flight)))
        [process] = [process for process in self.processes if shard in process.shards]
        if self.random.random() < 0.25:
            process.budgets.give_back(shard, RUN, lease)
            self.waiting[shard] += 1
            return
        process.budgets.use(shard, RUN, entry, most=self.most, lease_id=lease)
        self.fetched[shard].append(entry)

    def replace(self, number: int) -> None:
        """Have somebody else take the shards of a process: with what the truth and the leases say."""
        before = self.processes[number]
        after = self.processes[number] = Process(before.shards, before.epoch + 1)
        after.hear(self.log, len(self.log))
        for shard in after.shards:
            after.budgets.begin_count(shard)
            for entry in self.fetched[shard]:
                after.budgets.use(shard, RUN, entry, most=self.most)
            leased = {
                lease.rpartition("-")[2]: (RUN, entry) for at, lease, entry in self.in_flight if at == shard
            }
            after.budgets.end_count(shard, at=self.now, leased=leased)

    def step(self) -> None:
        self.now += 0.3
        process = self.random.choice(self.processes)
        process.hear(self.log, self.random.randint(process.read, len(self.log)))
        for shard in process.shards:
            self.ask(process, shard)
            words = process.budgets.words(self.owner(process, shard), now=self.now, now_ms=1)
            for word in list(words):
                self.log += [word] * self.random.choice([1, 1, 2])
        for _ in range(self.random.randint(0, 3)):
            self.finish()
        if self.random.random() < 0.02:
            self.replace(self.random.randrange(2))


@pytest.mark.parametrize("most", [1, 7, 40, 200])
@pytest.mark.parametrize("seed", range(10))
def test_a_budget_is_never_exceeded_and_never_left_over(seed: int, most: int) -> None:
    """Whoever reads late, says twice, dies, or has entries where others have the budget."""
    crawl = Crawl(seed, most=most, entries=[60, 0, 3, 40, 1, 10])
    total = 114
    for _ in range(20_000):
        if not any(crawl.waiting.values()) and not crawl.in_flight:
            break
        crawl.step()
        done = sum(map(len, crawl.fetched.values()))
        assert done + len(crawl.in_flight) <= most

    assert sum(map(len, crawl.fetched.values())) == min(most, total)
    assert crawl.closed == total - min(most, total)
