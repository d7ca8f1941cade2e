"""Entries that are only in the log, until there is room for them or they are nearly due."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.models import (
    EntryDisposition,
    EntryLookupResult,
    HostGroupState,
    LogPassPart,
    LookupStatus,
    QueueLimits,
    RunEntryCounts,
)
from tests.contract.working_set.implementations.frontiers import (
    EPOCH,
    LONG_MS,
    SHARD,
    FrontierWorld,
    identity,
    page,
    recorded,
)

HOUR_MS = 3_600_000
TWO_A_GROUP = QueueLimits(entries_per_group=2)
AN_HOUR = QueueLimits(horizon_ms=HOUR_MS)


async def limited(frontier: FrontierWorld, room: QueueLimits, *groups: HostGroupState) -> None:
    frontier.working_set = frontier.owner(limits=room)
    await frontier.open(*groups)


async def refill(
    frontier: FrontierWorld, *entries: EntryRecorded, part: LogPassPart = LogPassPart.WHOLE
) -> int:
    return await frontier.working_set.refill(SHARD, EPOCH, entries, part=part)


async def parked(frontier: FrontierWorld, *entries: EntryRecorded) -> list[bool]:
    return list(await frontier.working_set.find_parked(SHARD, EPOCH, [identity(entry) for entry in entries]))


async def full(frontier: FrontierWorld) -> tuple[int, int, int, int]:
    """Queued, parked for room, asleep, hungry."""
    figures = await frontier.working_set.stats(SHARD, EPOCH)
    return figures.queued, figures.overflow, figures.deferred, figures.refillable_groups


async def finish(frontier: FrontierWorld) -> list[str]:
    """Release and close all that may go now, until nothing is left."""
    done: list[str] = []
    while leases := (await frontier.release()).leases:
        for lease in leases:
            await frontier.conclude(lease, EntryDisposition.CLOSE)
            done.append(lease.entry.url.rpartition("/")[2])
    return done


async def test_an_entry_beyond_the_capacity_of_its_group_is_parked(frontier: FrontierWorld) -> None:
    """One host with a million pages must not take the memory of all others."""
    await limited(frontier, TWO_A_GROUP)

    await frontier.accept(page("a"), page("b"), page("c"), page("d"), page("x", "b.test"))

    assert await parked(frontier, page("a"), page("b"), page("c"), page("d")) == [False, False, True, True]
    assert await full(frontier) == (3, 2, 0, 0)
    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {
        "news-1": RunEntryCounts(open=5, accepted=5)
    }


async def test_a_parked_entry_is_open_and_accepted_once(frontier: FrontierWorld) -> None:
    """Its execution is not over; and neither a link nor a redelivery may count it again."""
    await limited(frontier, TWO_A_GROUP)
    await frontier.accept(page("a"), page("b"), page("c"))

    await frontier.accept(page("c"))

    assert await frontier.look(page("c")) == EntryLookupResult(LookupStatus.OPEN)
    assert await frontier.asked(page("c")) == [True]
    assert await full(frontier) == (2, 1, 0, 0)
    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {
        "news-1": RunEntryCounts(open=3, accepted=3)
    }


async def test_a_late_entry_beyond_the_capacity_is_deferred(frontier: FrontierWorld) -> None:
    """A run that is paused must not fill its groups' queues with entries that may not be requested."""
    await limited(frontier, QueueLimits(entries_per_group=1, horizon_ms=HOUR_MS))
    await frontier.accept(page("a"), page("b"))
    before = await full(frontier)

    late = replace(page("b"), due_at_ms=1 << 45)
    opened = await refill(frontier, late)

    assert (before, opened) == ((1, 1, 0, 0), 0)
    assert await full(frontier) == (1, 0, 1, 0)
    figures = await frontier.working_set.stats(SHARD, EPOCH)
    assert figures.next_deferred_due_ms == 1 << 45
    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {
        "news-1": RunEntryCounts(open=2, accepted=2)
    }


async def test_a_refill_queues_parked_entries_up_to_the_capacity(frontier: FrontierWorld) -> None:
    await limited(frontier, TWO_A_GROUP)
    pages = [page(word) for word in "abcdef"]
    await frontier.accept(*pages)
    first = await finish(frontier)
    hungry = await full(frontier)

    opened = [await refill(frontier, *pages), await refill(frontier, *pages)]

    assert first == ["a", "b"]
    assert (hungry, opened) == ((0, 4, 0, 1), [2, 0])
    assert await full(frontier) == (2, 2, 0, 0)
    assert await finish(frontier) == ["c", "d"]
    assert await refill(frontier, *pages) == 2
    assert await finish(frontier) == ["e", "f"]
    assert await full(frontier) == (0, 0, 0, 0)
    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {
        "news-1": RunEntryCounts(open=0, accepted=6)
    }


@pytest.mark.parametrize("fate", list(EntryDisposition))
async def test_a_refill_refuses_what_is_not_parked(frontier: FrontierWorld, fate: EntryDisposition) -> None:
    """The log is read a moment before: what is queued, leased, fetched or closed by then comes with it."""
    await limited(frontier, TWO_A_GROUP)
    await frontier.accept(page("a"), page("b"))
    lease = (await frontier.release(limit=1)).leases[0]
    leased = await refill(frontier, page("a"), page("b"), page("never"))
    await frontier.conclude(lease, fate)
    before = await full(frontier)

    opened = await refill(frontier, page("a"), page("b"))

    assert (leased, opened) == (0, 0)
    assert await full(frontier) == before


async def test_high_priority_may_use_twice_the_capacity(frontier: FrontierWorld) -> None:
    """What is urgent must not wait behind the log."""
    await limited(frontier, TWO_A_GROUP)

    await frontier.accept(*(page(word) for word in "ab"), *(page(word, priority=3) for word in "xyz"))

    assert await parked(frontier, page("x"), page("y"), page("z")) == [False, False, True]


async def test_what_is_due_beyond_the_horizon_sleeps_in_the_log(frontier: FrontierWorld) -> None:
    await limited(frontier, AN_HOUR)
    now_ms = (await frontier.release()).now_ms
    early, late = page("early", due_at_ms=now_ms + HOUR_MS), page("late", due_at_ms=now_ms + 2 * HOUR_MS)

    await frontier.accept(early, late)

    figures = await frontier.working_set.stats(SHARD, EPOCH)
    assert (figures.queued, figures.deferred, figures.next_deferred_due_ms) == (1, 1, late.due_at_ms)
    assert await refill(frontier, early, late) == 0
    assert await parked(frontier, late) == [True]


async def test_a_sleeper_wakes_when_it_is_due_within_the_horizon(frontier: FrontierWorld) -> None:
    """A round through the log finds it, and the next round is due when the next one wakes."""
    await limited(frontier, QueueLimits(horizon_ms=40))
    now_ms = (await frontier.release()).now_ms
    soon, later = page("soon", due_at_ms=now_ms + 90), page("later", due_at_ms=now_ms + LONG_MS)
    await frontier.accept(soon, later)
    await frontier.pass_ms(60)

    opened = await refill(frontier, soon, part=LogPassPart.BEGIN) + await refill(
        frontier, later, part=LogPassPart.END
    )

    figures = await frontier.working_set.stats(SHARD, EPOCH)
    assert (opened, figures.deferred, figures.next_deferred_due_ms) == (1, 1, later.due_at_ms)
    await frontier.pass_ms(40)
    assert await frontier.released() == ["soon"]


async def test_a_deferred_entry_without_capacity_stays_parked(frontier: FrontierWorld) -> None:
    await limited(frontier, QueueLimits(entries_per_group=1, horizon_ms=20))
    sleeper = page("s", due_at_ms=(await frontier.release()).now_ms + 60)
    await frontier.accept(page("a"), sleeper)
    await frontier.pass_ms(70)

    assert await refill(frontier, sleeper) == 0
    assert await full(frontier) == (1, 1, 0, 0)
    assert await finish(frontier) == ["a"]
    assert await refill(frontier, sleeper) == 1
    assert await finish(frontier) == ["s"]


async def test_an_entry_put_off_for_long_sleeps_and_ends_its_lease(frontier: FrontierWorld) -> None:
    """A host that asks for a day's rest takes no memory for it."""
    await limited(frontier, AN_HOUR)
    await frontier.accept(page("x"), page("y"))
    lease = await frontier.release_one()
    again = replace(lease.entry, due_at_ms=lease.issued_at_ms + 24 * HOUR_MS, tries=1)

    for _ in range(2):
        await frontier.conclude_entry(again, EntryDisposition.QUEUE, lease_id=lease.lease_id)

    assert await full(frontier) == (1, 0, 1, 0)
    assert await frontier.free(lease) == "stale"
    assert await frontier.released() == ["y"]
    assert await frontier.look(page("x")) == EntryLookupResult(LookupStatus.OPEN)
    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {
        "news-1": RunEntryCounts(open=2, accepted=2)
    }


async def test_a_rebuild_parks_by_the_same_rules(frontier: FrontierWorld) -> None:
    """A log that is larger than the store fits all the same."""
    frontier.working_set = frontier.owner(limits=TWO_A_GROUP)
    await frontier.working_set.take_over(SHARD, EPOCH)
    await frontier.working_set.begin_rebuild(SHARD, EPOCH)
    queued = [recorded(page(word)) for word in "abcd"]
    for _ in range(2):
        await frontier.working_set.load(SHARD, EPOCH, queued=queued)
    await frontier.working_set.finish_rebuild(SHARD, EPOCH, groups=[], sequence=0)

    assert await full(frontier) == (2, 2, 0, 0)
    assert (await frontier.working_set.run_counts(SHARD, EPOCH))["news-1"].open == 4


async def test_another_rebuild_drops_what_was_parked(frontier: FrontierWorld) -> None:
    await limited(frontier, QueueLimits(entries_per_group=1, horizon_ms=HOUR_MS))
    late = page("c", due_at_ms=(await frontier.release()).now_ms + 2 * HOUR_MS)
    await frontier.accept(page("a"), page("b"), late)

    await frontier.open()

    assert await full(frontier) == (0, 0, 0, 0)
    assert await parked(frontier, page("b"), late) == [False, False]
    assert await refill(frontier, page("b"), late) == 0


async def test_idle_groups_are_forgotten_and_busy_ones_are_not(frontier: FrontierWorld) -> None:
    """A crawl of the web meets a million hosts; one that is done with takes no memory."""
    await limited(frontier, TWO_A_GROUP, *(HostGroupState(name, 0) for name in ("idle.test", "busy.test")))
    now_ms = (await frontier.release()).now_ms
    await frontier.working_set.set_host_groups(
        SHARD,
        EPOCH,
        [
            HostGroupState("rests.test", 0, blocked_until_ms=now_ms + LONG_MS),
            HostGroupState("waits.test", 0, not_before_ms=now_ms + LONG_MS),
        ],
    )
    await frontier.accept(page("x", "busy.test"), page("y", "leased.test"))
    await frontier.accept(*(page(word, "parked.test") for word in "abc"))
    for lease in (await frontier.release()).leases:
        if lease.entry.group == "parked.test":
            await frontier.conclude(lease, EntryDisposition.CLOSE)

    pruned = await frontier.working_set.prune_host_groups(SHARD, EPOCH)

    assert list(pruned) == ["idle.test"]
    assert await frontier.working_set.prune_host_groups(SHARD, EPOCH) == []


@pytest.mark.parametrize("fate", [EntryDisposition.CLOSE, EntryDisposition.CLOSE_AND_FORGET])
async def test_what_was_parked_since_it_was_decided_about_is_closed(
    frontier: FrontierWorld, fate: EntryDisposition
) -> None:
    """Who decided had seen it queued; no refill would find it again, and its run would never end."""
    await limited(frontier, TWO_A_GROUP)
    pages = [page(word) for word in "abc"]
    await frontier.accept(*pages)

    await frontier.conclude_entry(pages[2], fate)

    assert await full(frontier) == (2, 0, 0, 0)
    known = LookupStatus.SEEN if fate is EntryDisposition.CLOSE else LookupStatus.UNKNOWN
    assert (await frontier.look(pages[2])).status is known
    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {
        "news-1": RunEntryCounts(open=2, accepted=3)
    }
    assert await finish(frontier) == ["a", "b"]
    assert await refill(frontier, *pages) == 0


async def test_a_late_word_about_another_fetch_leaves_what_is_parked(frontier: FrontierWorld) -> None:
    """It names a lease, and what is parked had none."""
    await limited(frontier, TWO_A_GROUP)
    pages = [page(word) for word in "abc"]
    await frontier.accept(*pages)

    await frontier.conclude_entry(pages[2], EntryDisposition.CLOSE, lease_id=f"{SHARD}-{EPOCH:x}-99")

    assert await parked(frontier, pages[2]) == [True]
    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {
        "news-1": RunEntryCounts(open=3, accepted=3)
    }
