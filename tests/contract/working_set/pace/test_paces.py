"""Paces of crawl specs: each counts in a group while an entry under it is open there, and no longer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.constants import MAX_PACES, START_TOLERANCE_MS
from strider.frontier.models import (
    EntryDisposition,
    HostGroupState,
    HostPace,
    Lease,
    LogPassPart,
    QueueLimits,
)
from strider.frontier.rebuild_records import RecordedEntry
from tests.contract.working_set.implementations.frontiers import (
    EPOCH,
    SHARD,
    FrontierWorld,
    accepted,
    page,
    words,
)

CLOSE = EntryDisposition.CLOSE
DELAY_MS = 1_000
"""Long enough to be noticed on a busy machine, short enough to be waited for."""
MILD, SLOW = HostPace(0, 3, 100), HostPace(DELAY_MS, 1, 100)
PACES = {"mild": MILD, "slow": SLOW}
BY_SPECS = HostGroupState("a.test", None, None)


def entry(name: str, spec: str, **changes: Any) -> EntryRecorded:
    return replace(page(name), crawl_spec_id=spec, **changes)


async def accept(
    frontier: FrontierWorld, *entries: EntryRecorded, paces: Mapping[str, HostPace] = PACES
) -> None:
    await frontier.working_set.accept(SHARD, EPOCH, [accepted(each) for each in entries], paces=paces)


async def fetch(frontier: FrontierWorld, lease: Lease) -> None:
    """Make the request of a lease, and close its entry."""
    started_at_ms = (await frontier.mark(lease)).now_us // 1000
    await frontier.free(lease, started_at_ms)
    await frontier.conclude(lease, CLOSE)


async def test_requests_in_flight_are_the_fewest_of_the_open_entries(frontier: FrontierWorld) -> None:
    await frontier.open(BY_SPECS)
    await accept(frontier, entry("one", "one"), paces={"one": HostPace(0, 1, 100)})
    await accept(frontier, *(entry(str(number), "mild") for number in range(5)))

    first = (await frontier.release()).leases
    await fetch(frontier, first[0])
    second = await frontier.released()

    assert (words(first), second) == (["one"], ["0", "1", "2"])


async def test_the_longest_delay_ends_with_its_last_entry(frontier: FrontierWorld) -> None:
    """It still holds after its own last request; from the next one on it does not."""
    await frontier.open(BY_SPECS)
    await accept(frontier, entry("slow", "slow"), *(entry(name, "mild") for name in "123"))
    await fetch(frontier, await frontier.release_one())
    at_once = await frontier.released()
    await frontier.pass_ms(DELAY_MS + 5)

    after = (await frontier.release()).leases

    assert (at_once, words(after)) == ([], ["1", "2", "3"])


async def test_a_pace_holds_until_the_last_of_its_entries_is_closed(frontier: FrontierWorld) -> None:
    await frontier.open(BY_SPECS)
    await accept(frontier, entry("1", "slow"), entry("2", "mild"), entry("3", "mild"), entry("4", "slow"))

    released = []
    for _ in range(4):
        lease = await frontier.release_one()
        await fetch(frontier, lease)
        released.append((lease.entry.url_key, await frontier.released()))
        await frontier.pass_ms(DELAY_MS + 5)

    assert [beside for _, beside in released] == [[]] * 4


async def test_a_repeated_acceptance_counts_once(frontier: FrontierWorld) -> None:
    await frontier.open(BY_SPECS)
    for _ in range(3):
        await accept(frontier, entry("slow", "slow"), entry("1", "mild"), entry("2", "mild"))
    await fetch(frontier, await frontier.release_one())
    await frontier.pass_ms(DELAY_MS + 5)

    assert await frontier.released() == ["1", "2"]


async def test_a_request_in_flight_keeps_the_delay_under_which_it_was_made(frontier: FrontierWorld) -> None:
    """A page may be settled, and its entry closed, before its outcome is read."""
    await frontier.open(BY_SPECS)
    await accept(frontier, entry("slow", "slow"), entry("1", "mild"))
    lease = await frontier.release_one()
    started_at_ms = (await frontier.mark(lease)).now_us // 1000
    await frontier.conclude_entry(lease.entry, CLOSE)
    await frontier.free(lease, started_at_ms)

    before = await frontier.released()
    await frontier.pass_ms(START_TOLERANCE_MS + DELAY_MS + 5)

    assert (before, await frontier.released()) == ([], ["1"])


async def test_what_the_owner_sets_replaces_paces_and_robots_only_lengthen_them(
    frontier: FrontierWorld,
) -> None:
    await frontier.open(HostGroupState("a.test", 0, 2))
    await accept(frontier, *(entry(str(number), "slow") for number in range(4)))
    override = (await frontier.release()).leases
    for lease in override:
        await fetch(frontier, lease)
    by_robots = HostGroupState("a.test", 0, 2, least_delay_ms=DELAY_MS)
    await frontier.working_set.set_host_groups(SHARD, EPOCH, [by_robots])
    await fetch(frontier, await frontier.release_one())

    assert (words(override), await frontier.released()) == (["0", "1"], [])


async def test_a_least_delay_that_the_owner_does_not_know_stays_as_it_was_set(
    frontier: FrontierWorld,
) -> None:
    """The owner forgets hosts that it can look up again; until it has, their delay must not shrink."""
    await frontier.open(HostGroupState("a.test", 0, 1, least_delay_ms=DELAY_MS))
    await accept(frontier, *(entry(str(number), "slow") for number in range(3)))
    lease = await frontier.release_one()
    await frontier.working_set.set_host_groups(
        SHARD, EPOCH, [HostGroupState("a.test", 0, 1, least_delay_ms=None)]
    )
    await fetch(frontier, lease)

    unknown = await frontier.released()
    await frontier.working_set.set_host_groups(SHARD, EPOCH, [HostGroupState("a.test", 0, 1)])
    await frontier.pass_ms(DELAY_MS + START_TOLERANCE_MS)
    await fetch(frontier, await frontier.release_one())

    assert (unknown, await frontier.released()) == ([], ["2"])


async def test_the_shortest_patience_of_an_open_entry_ends_a_block(frontier: FrontierWorld) -> None:
    """An entry with little patience is released, to be decided; when it is closed, the block holds again."""
    await frontier.open(BY_SPECS)
    now_ms = (await frontier.release()).now_ms
    block = replace(BY_SPECS, blocked_since_ms=now_ms - 5_000, blocked_until_ms=now_ms + 3_600_000)
    await accept(frontier, entry("1", "short"), paces={"short": HostPace(0, 1, 1)})
    await accept(frontier, entry("2", "mild"))
    await frontier.working_set.set_host_groups(SHARD, EPOCH, [block])

    lease = await frontier.release_one()
    await frontier.conclude(lease, CLOSE)

    assert (lease.entry.crawl_spec_id, await frontier.released()) == ("short", [])


async def test_paces_are_those_of_the_log_after_a_rebuild(frontier: FrontierWorld) -> None:
    await frontier.working_set.take_over(SHARD, EPOCH)
    await frontier.working_set.begin_rebuild(SHARD, EPOCH)
    queued, in_pipeline = [entry("1", "mild"), entry("2", "mild")], [entry("slow", "slow")]
    await frontier.working_set.load(
        SHARD,
        EPOCH,
        queued=[RecordedEntry.of(each) for each in queued],
        in_pipeline=[RecordedEntry.of(each) for each in in_pipeline],
        paces=PACES,
    )
    now_ms = (await frontier.working_set.take_over(SHARD, EPOCH)).now_ms
    state = replace(BY_SPECS, started_at_ms=now_ms)
    await frontier.working_set.finish_rebuild(SHARD, EPOCH, groups=[state], sequence=0)

    held = await frontier.released()
    await frontier.pass_ms(DELAY_MS + 5)
    under_both = (await frontier.release()).leases
    await frontier.conclude_entry(in_pipeline[0], CLOSE)
    await fetch(frontier, under_both[0])

    assert (held, words(under_both), await frontier.released()) == ([], ["1"], ["2"])


async def test_parked_entries_keep_their_pace(frontier: FrontierWorld) -> None:
    """They are open; queued again, each counts once, and its pace ends with it."""
    frontier.working_set = frontier.owner(limits=QueueLimits(entries_per_group=1))
    await frontier.open(BY_SPECS)
    parked = entry("slow", "slow")
    await accept(frontier, entry("1", "mild"), parked, entry("2", "mild"))
    await fetch(frontier, await frontier.release_one())
    await frontier.pass_ms(DELAY_MS + 5)

    await frontier.working_set.refill(SHARD, EPOCH, [parked], part=LogPassPart.WHOLE, paces=PACES)
    lease = await frontier.release_one()
    await fetch(frontier, lease)
    await frontier.working_set.refill(SHARD, EPOCH, [entry("2", "mild")], part=LogPassPart.WHOLE, paces=PACES)
    at_once = await frontier.released()
    await frontier.pass_ms(DELAY_MS + 5)

    assert (words([lease]), at_once, await frontier.released()) == (["slow"], [], ["2"])


async def test_a_group_with_open_entries_is_not_pruned(frontier: FrontierWorld) -> None:
    await frontier.open(BY_SPECS)
    await accept(frontier, entry("slow", "slow"))
    lease = await frontier.release_one()
    await frontier.free(lease)
    await frontier.conclude(lease, EntryDisposition.PIPELINE)

    while_open = await frontier.working_set.prune_host_groups(SHARD, EPOCH)
    await frontier.conclude_entry(lease.entry, CLOSE)

    assert list(while_open) == []
    assert list(await frontier.working_set.prune_host_groups(SHARD, EPOCH)) == ["a.test"]


@pytest.mark.parametrize("own_delay_ms", [0, DELAY_MS], ids=["mild", "strict"])
async def test_very_many_paces_are_counted_together(frontier: FrontierWorld, own_delay_ms: int) -> None:
    """A further one counts under one that covers it: never milder than its own, and it ends as well."""
    await frontier.open(BY_SPECS)
    paces = {f"s{number}": HostPace(1 + number % 3, 1, 1_000 + number) for number in range(MAX_PACES + 9)}
    many = [entry(str(number), f"s{number}") for number in range(MAX_PACES + 9)]
    await accept(frontier, *many, paces=paces)
    own = entry("own", "own")
    await accept(frontier, own, paces={"own": HostPace(own_delay_ms, 1, 50)})

    await fetch(frontier, await frontier.release_one())
    early = await frontier.released() if own_delay_ms else []
    await frontier.pass_ms(own_delay_ms + 5)
    still = (await frontier.release()).leases
    for lease in still:
        await frontier.conclude(lease, CLOSE)
    for each in (*many[2:], own):
        await frontier.conclude_entry(each, CLOSE)
    await accept(frontier, entry("a", "mild"), entry("b", "mild"), entry("c", "mild"))

    assert early == []
    assert len(still) == 1
    assert await frontier.released() == ["a", "b", "c"]
