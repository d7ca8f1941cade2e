"""Random days of an owner, its fetchers and its crashes, beside a model that is too simple to be wrong.

In memory time goes by hand, so that delays and expiries take part; on a server, whose time no test moves,
leases and blocks are long and the rest is the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from strider.frontier.models import EntryDisposition, HostGroupState, Lease, LookupStatus, RunEntryCounts
from strider.storage.redis import RedisOptions, connect
from tests.contract.working_set.implementations.frontiers import (
    EPOCH,
    LEASE_MS,
    LONG_MS,
    SHARD,
    FrontierWorld,
    MemoryWorld,
    RedisWorld,
    identity,
    page,
)

from .model import Group, Model

T = TypeVar("T")

PLACES = {"a.test": 1, "b.test": 3}
PAGES = st.builds(
    page,
    st.sampled_from(["1", "2"]),
    st.sampled_from(sorted(PLACES)),
    priority=st.integers(min_value=0, max_value=3),
)


class Days(RuleBasedStateMachine):
    """What may happen to a shard, in any order."""

    lease_ms = st.just(LEASE_MS)
    delay_ms = st.just(0)
    wait_ms = st.just(0)

    def __init__(self, open_world: Callable[[], Coroutine[Any, Any, FrontierWorld]]) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.world = self.run(open_world())
        self.leases: list[Lease] = []
        self.nonces = 0
        self.now_ms = 0

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(doing)

    @initialize(data=st.data())
    def open(self, data: st.DataObject) -> None:
        delays = {name: data.draw(self.delay_ms) for name in PLACES}
        states = [HostGroupState(name, delays[name], places) for name, places in PLACES.items()]
        self.run(self.world.open(*states))
        self.model = Model({name: Group(delays[name], places) for name, places in PLACES.items()})
        self.tick()

    def tick(self) -> None:
        figures = self.run(self.world.working_set.stats(SHARD, EPOCH))
        self.now_ms = figures.now_ms

    def a_lease(self, data: st.DataObject) -> Lease:
        """Any of the last ones, over or not."""
        return data.draw(st.sampled_from(self.leases[-1:-5:-1]))

    def a_due_time(self, data: st.DataObject) -> int:
        """At once, mostly."""
        after_ms = data.draw(st.sampled_from([0, 0, 0, LONG_MS]) | self.wait_ms)
        return self.now_ms + after_ms

    @rule(entry=PAGES, data=st.data())
    def accept(self, entry: Any, data: st.DataObject) -> None:
        self.tick()
        due = replace(entry, due_at_ms=self.a_due_time(data))
        self.run(self.world.accept(due))
        self.model.accept(due)

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        release = self.run(self.world.release(lease_ms=data.draw(self.lease_ms)))
        self.model.expire(release.now_ms)
        expected = {name: self.model.due(name, release.now_ms) for name in PLACES}
        given = {
            name: [lease.entry.priority for lease in release.leases if lease.entry.group == name]
            for name in PLACES
        }
        assert given == expected
        assert sorted(lease.lease_id for lease in release.expired) == self.model.expired()
        for lease in release.leases:
            self.model.give(lease)
        self.leases += release.leases

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def mark(self, data: st.DataObject) -> None:
        lease = self.a_lease(data)
        self.nonces += 1
        deadline_ms = data.draw(self.lease_ms)
        mark = self.run(self.world.mark(lease, nonce=str(self.nonces), deadline_ms=deadline_ms))
        assert mark.result.value == self.model.mark(lease, mark.now_us // 1000, deadline_ms)

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), has_begun=st.booleans())
    def free(self, data: st.DataObject, *, has_begun: bool) -> None:
        lease = self.a_lease(data)
        self.tick()
        began_ms = self.now_ms if has_begun else 0
        expected = self.model.free(lease, started_ms=began_ms, now_ms=self.now_ms)
        assert self.run(self.world.free(lease, began_ms)) == expected

    @precondition(lambda self: self.leases)
    @rule(
        data=st.data(), fate=st.sampled_from(EntryDisposition), is_named=st.sampled_from([True, True, False])
    )
    def conclude(self, data: st.DataObject, fate: EntryDisposition, *, is_named: bool) -> None:
        lease = self.a_lease(data)
        self.tick()
        entry = replace(lease.entry, due_at_ms=self.a_due_time(data))
        self.run(self.world.conclude_entry(entry, fate, lease_id=lease.lease_id if is_named else ""))
        self.model.conclude(entry, fate, lease if is_named else None)

    @rule(entry=PAGES, fate=st.sampled_from(EntryDisposition))
    def decide_without_a_lease(self, entry: Any, fate: EntryDisposition) -> None:
        """A cancelled run, a settled page."""
        known = self.run(self.world.look(entry)).entry
        if known is not None:
            self.run(self.world.conclude_entry(known, fate))
            self.model.conclude(known, fate, None)

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def swap(self, data: st.DataObject) -> None:
        lease = self.a_lease(data)
        robots = page("robots.txt", lease.entry.group, kind="robots")
        given = self.run(self.world.swap(lease, robots))
        assert (given is not None) == self.model.swap(lease)
        if given is not None:
            self.model.adopt_alone(given)
            self.leases.append(given)

    @rule(name=st.sampled_from(sorted(PLACES)), is_blocked=st.booleans())
    def block(self, name: str, *, is_blocked: bool) -> None:
        self.tick()
        group = self.model.groups[name]
        group.blocked_until_ms = self.now_ms + LONG_MS if is_blocked else 0
        state = HostGroupState(name, group.delay_ms, group.places, group.blocked_until_ms)
        self.run(self.world.working_set.set_host_groups(SHARD, EPOCH, [state]))

    @rule(data=st.data())
    def wait(self, data: st.DataObject) -> None:
        self.run(self.world.pass_ms(data.draw(self.wait_ms)))

    @rule()
    def take_over(self) -> None:
        """A restart of the owner: nothing is remembered but what the store has."""
        self.world.working_set = self.world.owner()
        assert self.run(self.world.working_set.take_over(SHARD, EPOCH)).is_ready

    @invariant()
    def everything_is_known(self) -> None:
        assert self.run(self.world.figures()) == self.model.figures()
        counts = self.run(self.world.working_set.run_counts(SHARD, EPOCH))
        assert counts.get("news-1", RunEntryCounts(0, 0)) == RunEntryCounts(
            len(self.model.entries), self.model.accepted
        )
        for word in ("1", "2"):
            for group in PLACES:
                known = self.run(self.world.look(page(word, group)))
                held = self.model.entries.get(identity(page(word, group)))
                is_seen = identity(page(word, group)) in self.model.seen
                closed = LookupStatus.SEEN if is_seen else LookupStatus.UNKNOWN
                assert known.status is (LookupStatus.OPEN if held else closed)
                assert known.entry == (replace(held.entry, fetch_sequence=held.sequence) if held else None)

    def teardown(self) -> None:
        self.run(self.world.shut())
        self.runner.close()


class DaysByHand(Days):
    """With time."""

    lease_ms = st.sampled_from([10, 100, LEASE_MS])
    delay_ms = st.sampled_from([0, 20, 3_000])
    wait_ms = st.sampled_from([1, 15, 30, 2_500])


def test_memory_lives_through_any_day_as_the_model_does() -> None:
    """Each rule has a test of its own; this one finds what happens between two of them."""

    async def open_world() -> FrontierWorld:
        return MemoryWorld()

    run_state_machine_as_test(
        lambda: DaysByHand(open_world), settings=settings(max_examples=200, stateful_step_count=50)
    )


def test_a_server_lives_through_any_day_as_the_model_does(redis_url: str) -> None:
    """The same rules, run by scripts."""

    async def open_world() -> FrontierWorld:
        return RedisWorld(connect(RedisOptions(redis_url)))

    run_state_machine_as_test(
        lambda: Days(open_world), settings=settings(max_examples=40, stateful_step_count=50)
    )
