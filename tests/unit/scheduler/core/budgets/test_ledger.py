"""Shares of a budget: never more than its limit, and in the end all of it, with repeats and delays."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from strider.contracts.generated.events import JobEvent
from strider.scheduler.core.budgets.claims import ShardOwner
from strider.scheduler.core.budgets.ledger import BudgetKey, BudgetLedger, BudgetMeasure
from strider.scheduler.core.budgets.limits import BudgetAmount, BudgetLimits, smallest_useful_bytes
from strider.scheduler.core.budgets.reservations import ReservationRequest, ReservationStatus, RunBudgets
from strider.scheduler.core.budgets.usage import BudgetedFetch

RUN, SPEC = KEY = BudgetKey("run", "spec")


def said(what: str, shard: int, pages: int, *, epoch: int = 1, used: int = 0, limit: int = 10) -> JobEvent:
    counts = {"limit": limit, "epoch": epoch, "used": used}
    return JobEvent(
        "id", what, False, 1, "scheduler", crawl_spec_id=SPEC,
        execution_id=RUN, shard=shard, pages=pages, counts=counts,
    )  # fmt: skip


def parts(*events: JobEvent) -> dict[int, int]:
    ledger = BudgetLedger()
    for event in events:
        ledger.apply(event)
    return {shard: share.allowed for shard, share in ledger.pool(KEY).shares.items()}


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
            id="what comes back goes to the waiting shard",
        ),
        pytest.param(
            [said("quota_wanted", 0, 6, epoch=2), said("quota_returned", 0, 0, epoch=1)],
            {0: 6},
            id="an earlier owner is ignored",
        ),
        pytest.param([WANT_6, said("quota_returned", 0, 8)], {0: 6}, id="no shard returns what it has not"),
    ],
)
def test_parts_of_a_budget(events: list[JobEvent], allowed: dict[int, int]) -> None:
    assert parts(*events) == allowed


def test_the_time_of_a_run_begins_with_the_first_word_about_it() -> None:
    """Every later word names it as well, because words age."""
    ledger = BudgetLedger()
    ledger.apply(replace(WANT_6, at_ms=500, counts={"began_ms": 70, "epoch": 1}))
    ledger.apply(replace(WANT_5, at_ms=90))

    assert ledger.started_ms(KEY) == 70


def test_the_budgets_of_two_specs_of_a_run_are_divided_apart() -> None:
    """A claim under another spec changes neither limit, shares nor start, and exhausts its own budget."""
    ledger, other = BudgetLedger(), BudgetKey(RUN, "other")
    ledger.apply(replace(WANT_6, at_ms=500))
    ledger.apply(
        replace(said("quota_wanted", 0, 1, used=1, limit=1), crawl_spec_id=other.crawl_spec_id, at_ms=90)
    )

    assert [ledger.pool(key).limit for key in (KEY, other)] == [10, 1]
    assert [ledger.share(key, 0).allowed for key in (KEY, other)] == [6, 1]
    assert [ledger.started_ms(key) for key in (KEY, other)] == [500, 90]
    assert [ledger.exhausted_measure(key) for key in (KEY, other)] == ["", "pages"]


class Process:
    """A scheduler that owns some shards, reads the log when it is its turn, and may be replaced."""

    def __init__(self, shards: list[int], epoch: int) -> None:
        self.epoch = epoch
        self.shards = shards
        self.budgets = RunBudgets()
        self.read = 0

    def hear(self, log: list[JobEvent], upto: int) -> None:
        for event in log[self.read : upto]:
            self.budgets.ledger.apply(event)
        self.read = max(self.read, upto)


@dataclass(frozen=True)
class Flight:
    """A request under way."""

    shard: int
    bid: ReservationRequest
    sequence: int
    most: BudgetAmount

    def came(self, *, has_page: bool, size: int) -> BudgetedFetch:
        bid, cost = self.bid, BudgetAmount(0, size, 1)
        return BudgetedFetch(
            KEY,
            bid.entry_id,
            bid.host,
            bid.limits,
            self.sequence,
            has_page=has_page,
            cost=cost,
            lease_id=bid.lease_id,
        )


class Crawl:
    """Shards with entries, processes with shards, and a log that each reads at its own pace."""

    def __init__(self, seed: int, *, limits: BudgetLimits, entries: Sequence[int]) -> None:
        self.random = random.Random(seed)
        self.limits, self.now, self.sequence = limits, 0.0, 0
        self.waiting = {shard: [f"{shard}/{n}" for n in range(count)] for shard, count in enumerate(entries)}
        self.truth: dict[str, BudgetedFetch] = {}
        """What is written down of each entry: all that its fetches cost."""
        self.in_flight: list[Flight] = []
        self.closed: Counter[str] = Counter()
        self.log: list[JobEvent] = []
        half = len(entries) // 2
        self.processes = [Process(list(range(half)), 1), Process(list(range(half, len(entries))), 1)]

    def owner(self, process: Process, shard: int) -> ShardOwner:
        return ShardOwner(shard, process.epoch, len(self.waiting))

    def ask(self, process: Process, shard: int) -> None:
        if not self.waiting[shard]:
            return
        self.sequence += 1
        entry = self.waiting[shard][0]
        bid = ReservationRequest(
            KEY, f"{shard}-{process.epoch}-{self.sequence}", entry, host_of(entry), self.limits
        )
        answer = process.budgets.reserve(bid, owner=self.owner(process, shard), now=self.now)
        if answer.status is ReservationStatus.MUST_WAIT:
            self.waiting[shard].append(self.waiting[shard].pop(0))
            return
        self.waiting[shard].remove(entry)
        if answer.status is ReservationStatus.GRANTED:
            most = answer.amount if answer.amount.ms else self.limits.request
            self.in_flight.append(Flight(shard, bid, self.sequence, most))
        else:
            self.closed[answer.detail] += 1

    def finish(self) -> None:
        """Let one request end; every fourth fails, and its entry waits again."""
        if not self.in_flight:
            return
        flight = self.in_flight.pop(self.random.randrange(len(self.in_flight)))
        [process] = [process for process in self.processes if flight.shard in process.shards]
        is_failure = self.random.random() < 0.25
        size = min(self.random.randint(0, self.limits.request.bytes), flight.most.bytes)
        fetch = flight.came(has_page=not is_failure, size=size)
        process.budgets.record_fetch(flight.shard, fetch)
        before = self.truth.get(fetch.entry_id)
        cost = fetch.cost if before is None else fetch.cost.plus(before.cost)
        self.truth[fetch.entry_id] = replace(fetch, cost=cost)
        if is_failure:
            self.waiting[flight.shard].append(fetch.entry_id)

    def replace(self, number: int) -> None:
        """Let another process take the shards of a process: with what the truth and the leases say."""
        before = self.processes[number]
        after = self.processes[number] = Process(before.shards, before.epoch + 1)
        after.hear(self.log, len(self.log))
        for shard in after.shards:
            after.budgets.begin_recount(shard)
            for fetch in self.truth.values():
                if fetch.entry_id.startswith(f"{shard}/"):
                    after.budgets.restore_fetch(shard, fetch)
            leased = [flight.bid for flight in self.in_flight if flight.shard == shard]
            after.budgets.end_recount(shard, at=self.now, leased=leased)

    def step(self) -> None:
        self.now += 0.3
        process = self.random.choice(self.processes)
        process.hear(self.log, self.random.randint(process.read, len(self.log)))
        for shard in process.shards:
            self.ask(process, shard)
            words = process.budgets.pending_claims(self.owner(process, shard), now=self.now, now_ms=1)
            for word in list(words):
                self.log += [word] * self.random.choice([1, 1, 2])
        for _ in range(self.random.randint(0, 3)):
            self.finish()
        if self.random.random() < 0.02:
            self.replace(self.random.randrange(2))
        if self.random.random() < 0.05:
            self.find(self.random.randrange(len(self.waiting)))

    def find(self, shard: int) -> None:
        """Have a link found late: in a shard that may just be giving back what it does not need."""
        if sum(map(len, self.waiting.values())) < 60:
            self.sequence += 1
            self.waiting[shard].append(f"{shard}/late{self.sequence}")

    @property
    def is_over(self) -> bool:
        return not any(self.waiting.values()) and not self.in_flight

    def pages(self, place: str = "") -> int:
        return sum(fetch.has_page for fetch in self.truth.values() if place in {"", fetch.host})

    def bytes(self, place: str = "") -> int:
        return sum(fetch.cost.bytes for fetch in self.truth.values() if place in {"", fetch.host})


def host_of(entry: str) -> str:
    shard, _, name = entry.partition("/")
    return f"host{shard}-{len(name) % 2}.test"


ENTRIES = (60, 0, 3, 40, 1, 10)


@pytest.mark.parametrize("most", [1, 7, 40, 200])
@pytest.mark.parametrize("seed", range(10))
def test_a_budget_is_never_exceeded_and_never_left_over(seed: int, most: int) -> None:
    """Owners that read late, publish twice, die, or have entries where others have the budget."""
    crawl = Crawl(seed, limits=BudgetLimits(run=BudgetAmount(pages=most)), entries=ENTRIES)
    for _ in range(20_000):
        if crawl.is_over and crawl.pages() >= min(most, sum(ENTRIES)):
            break
        crawl.step()
        assert crawl.pages() + len(crawl.in_flight) <= most

    assert crawl.pages() == most or (crawl.is_over and not crawl.closed)
    assert set(crawl.closed) <= {"pages"}


@pytest.mark.parametrize("most", [70, 1_000, 5_000, 20_000])
@pytest.mark.parametrize("seed", range(10))
def test_a_budget_of_bytes_is_never_exceeded_and_only_scraps_are_left(seed: int, most: int) -> None:
    """Failures cost bytes too; where less is left than a page may have, one shard after the other gets it."""
    limits = BudgetLimits(run=BudgetAmount(bytes=most), request=BudgetAmount(1, 100, 30_000))
    crawl = Crawl(seed, limits=limits, entries=ENTRIES)
    for _ in range(20_000):
        if crawl.is_over and (crawl.closed or most > 100 * sum(ENTRIES)):
            break
        crawl.step()
        assert crawl.bytes() <= most

    assert crawl.is_over, "somebody waits for ever"
    assert not crawl.closed or most - crawl.bytes() < smallest_useful_bytes(most, 100)


@pytest.mark.parametrize("seed", range(10))
def test_hosts_have_budgets_of_their_own(seed: int) -> None:
    """Each is held to it, also by the next owner of the shard, and none gets less because of another."""
    limits = BudgetLimits(host=BudgetAmount(pages=5, bytes=600), request=BudgetAmount(1, 100, 30_000))
    crawl = Crawl(seed, limits=limits, entries=ENTRIES)
    hosts = {host_of(entry) for names in crawl.waiting.values() for entry in names}
    for _ in range(20_000):
        if crawl.is_over:
            break
        crawl.step()

    assert crawl.is_over
    assert all(crawl.pages(host) <= 5 and crawl.bytes(host) <= 600 for host in hosts)
    for host in hosts:
        is_used_up = crawl.pages(host) == 5 or 600 - crawl.bytes(host) < smallest_useful_bytes(600, 100)
        assert is_used_up or not {f"pages of host {host}", f"bytes of host {host}"} & set(crawl.closed)


def test_a_measure_without_a_limit_is_never_exhausted() -> None:
    ledger = BudgetLedger()
    ledger.apply(WANT_6)

    assert ledger.pool(KEY, BudgetMeasure.BYTES).limit == 0
    assert not ledger.pool(KEY, BudgetMeasure.BYTES).is_exhausted
