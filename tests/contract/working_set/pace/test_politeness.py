"""When a group's next request may go out: places, delays, blocks."""

from __future__ import annotations

import pytest

from strider.frontier.models import EntryDisposition, HostGroupState
from tests.contract.working_set.implementations.frontiers import (
    EPOCH,
    LONG_MS,
    SHARD,
    FrontierWorld,
    page,
    words,
)

DELAY_MS = 60


@pytest.mark.req("S3.5.2", "S3.5.4", "S3.12.1")
async def test_a_group_has_one_request_in_flight(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("1"), page("2"), page("x", "b.test"))

    first = (await frontier.release()).leases
    await frontier.pass_ms(5)

    assert sorted(words(first)) == ["1", "x"]
    assert await frontier.released() == []


async def test_a_group_may_have_more_places(frontier: FrontierWorld) -> None:
    await frontier.open(HostGroupState("a.test", delay_ms=0, max_in_flight=3))
    await frontier.accept(*(page(str(number)) for number in range(5)))

    first = (await frontier.release()).leases
    await frontier.free(first[1])
    second = await frontier.released()

    assert (words(first), second) == (["0", "1", "2"], ["3"])


@pytest.mark.req("S3.5.2", "S3.12.2")
async def test_the_next_request_comes_after_the_delay_and_after_the_outcome(frontier: FrontierWorld) -> None:
    await frontier.open(HostGroupState("a.test", delay_ms=DELAY_MS))
    await frontier.accept(page("1"), page("2"))
    lease = await frontier.release_one()
    started_at_ms = (await frontier.mark(lease)).now_us // 1000
    await frontier.pass_ms(DELAY_MS + 10)
    without_outcome = await frontier.released()

    await frontier.free(lease, started_at_ms)
    at_once = await frontier.release()

    assert without_outcome == []
    assert words(at_once.leases) == ["2"]
    assert at_once.now_ms >= started_at_ms + DELAY_MS


async def test_the_delay_is_counted_from_the_beginning_of_the_request(frontier: FrontierWorld) -> None:
    await frontier.open(HostGroupState("a.test", delay_ms=DELAY_MS))
    await frontier.accept(page("1"), page("2"))
    lease = await frontier.release_one()
    started_at_ms = (await frontier.mark(lease)).now_us // 1000
    await frontier.free(lease, started_at_ms)

    early = await frontier.release()
    await frontier.pass_ms(DELAY_MS)
    late = await frontier.release()

    assert (early.leases, early.next_due_ms) == ([], started_at_ms + DELAY_MS)
    assert words(late.leases) == ["2"]


async def test_a_request_that_never_began_uses_up_no_delay(frontier: FrontierWorld) -> None:
    """It failed before it connected."""
    await frontier.open(HostGroupState("a.test", delay_ms=LONG_MS))
    await frontier.accept(page("1"), page("2"))
    lease = await frontier.release_one()
    await frontier.mark(lease)

    await frontier.free(lease, 0)

    assert await frontier.released() == ["2"]


async def test_a_beginning_in_the_future_counts_as_now(frontier: FrontierWorld) -> None:
    """A fetcher that adds wrongly must not close a host for years."""
    await frontier.open(HostGroupState("a.test", delay_ms=DELAY_MS))
    await frontier.accept(page("1"), page("2"))
    lease = await frontier.release_one()
    mark = await frontier.mark(lease)

    await frontier.free(lease, mark.now_us // 1000 + LONG_MS)
    release = await frontier.release()

    assert release.next_due_ms is not None
    assert release.next_due_ms <= release.now_ms + DELAY_MS


async def test_a_beginning_before_its_mark_counts_as_the_mark(frontier: FrontierWorld) -> None:
    """Nothing was sent before it."""
    await frontier.open(HostGroupState("a.test", delay_ms=LONG_MS))
    await frontier.accept(page("1"), page("2"))
    lease = await frontier.release_one()
    mark = await frontier.mark(lease)

    await frontier.free(lease, 1)
    await frontier.conclude(lease, EntryDisposition.CLOSE)

    assert (await frontier.release()).next_due_ms == mark.now_us // 1000 + LONG_MS


async def test_a_late_outcome_moves_the_clock_too(frontier: FrontierWorld) -> None:
    """Its request was made, whatever became of its lease."""
    await frontier.open(HostGroupState("a.test", delay_ms=0))
    await frontier.accept(page("1"), page("2"))
    lease = await frontier.release_one(lease_ms=10)
    await frontier.pass_ms(20)
    now_ms = (await frontier.release(limit=0)).now_ms
    await frontier.conclude(lease, EntryDisposition.CLOSE)
    await frontier.working_set.set_host_groups(SHARD, EPOCH, [HostGroupState("a.test", delay_ms=LONG_MS)])

    ending = await frontier.free(lease, now_ms)

    assert (ending, await frontier.released()) == ("stale", [])


async def test_a_started_lease_that_runs_out_is_taken_to_have_begun_late(frontier: FrontierWorld) -> None:
    """It is unknown when its head was written; the fetcher had two seconds for it."""
    await frontier.open(HostGroupState("a.test", delay_ms=LONG_MS))
    await frontier.accept(page("1"), page("2"))
    lease = await frontier.release_one()
    mark = await frontier.mark(lease, deadline_ms=0)
    await frontier.pass_ms(60)

    release = await frontier.release()

    assert release.leases == []
    assert release.next_due_ms == mark.now_us // 1000 + 2_000 + LONG_MS


async def test_a_started_lease_that_is_concluded_unheard_is_taken_to_have_begun_late(
    frontier: FrontierWorld,
) -> None:
    """Its head may yet be written."""
    await frontier.open(HostGroupState("a.test", delay_ms=DELAY_MS))
    await frontier.accept(page("1"), page("2"))
    lease = await frontier.release_one()
    mark = await frontier.mark(lease)

    await frontier.conclude(lease, EntryDisposition.CLOSE)

    assert (await frontier.release()).next_due_ms == mark.now_us // 1000 + 2_000 + DELAY_MS


async def test_an_issued_lease_that_runs_out_uses_up_no_delay(frontier: FrontierWorld) -> None:
    await frontier.open(HostGroupState("a.test", delay_ms=LONG_MS))
    await frontier.accept(page("1"), page("2"))
    await frontier.release_one(lease_ms=10)
    await frontier.pass_ms(20)

    assert await frontier.released() == ["2"]


async def test_places_do_not_shorten_the_delay(frontier: FrontierWorld) -> None:
    """Slow pages may overlap; beginnings keep their distance, also where one is late to begin."""
    await frontier.open(HostGroupState("a.test", delay_ms=DELAY_MS, max_in_flight=3))
    await frontier.accept(page("1"), page("2"))
    lease = await frontier.release_one()
    await frontier.pass_ms(DELAY_MS + 5)
    unstarted = await frontier.released()
    mark = await frontier.mark(lease)

    release = await frontier.release()

    assert (unstarted, release.leases) == ([], [])
    assert release.next_due_ms == mark.now_us // 1000 + 2_000 + DELAY_MS


async def test_a_block_holds_a_group_until_it_ends_or_is_lifted(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("1"), page("x", "b.test"))
    now_ms = (await frontier.release(limit=0)).now_ms
    blocks = [HostGroupState("a.test", 0, blocked_until_ms=now_ms + LONG_MS)]
    await frontier.working_set.set_host_groups(SHARD, EPOCH, blocks)

    held = await frontier.release()
    await frontier.working_set.set_host_groups(SHARD, EPOCH, [HostGroupState("a.test", 0)])

    assert (words(held.leases), await frontier.released()) == (["x"], ["1"])


async def test_a_block_ends_by_itself(frontier: FrontierWorld) -> None:
    await frontier.open()
    now_ms = (await frontier.release()).now_ms
    blocked = HostGroupState("a.test", 0, blocked_until_ms=now_ms + 50)
    await frontier.working_set.set_host_groups(SHARD, EPOCH, [blocked])
    await frontier.accept(page("1"))

    early = await frontier.release()
    await frontier.pass_ms(55)

    assert (early.leases, early.next_due_ms) == ([], now_ms + 50)
    assert await frontier.released() == ["1"]


async def test_a_clock_is_moved_forwards_and_never_back(frontier: FrontierWorld) -> None:
    """`Retry-After` of an answer that came after a longer one."""
    await frontier.open()
    await frontier.accept(page("1"))
    now_ms = (await frontier.release(limit=0)).now_ms
    for not_before_ms in (now_ms + LONG_MS, now_ms + 1, 0):
        state = HostGroupState("a.test", 0, not_before_ms=not_before_ms)
        await frontier.working_set.set_host_groups(SHARD, EPOCH, [state])

    release = await frontier.release()

    assert (release.leases, release.next_due_ms) == ([], now_ms + LONG_MS)


async def test_a_longer_delay_holds_for_the_request_in_flight(frontier: FrontierWorld) -> None:
    """Robots.txt was read between the two."""
    await frontier.open(HostGroupState("a.test", delay_ms=0))
    await frontier.accept(page("1"), page("2"))
    lease = await frontier.release_one()
    mark = await frontier.mark(lease)
    await frontier.working_set.set_host_groups(SHARD, EPOCH, [HostGroupState("a.test", delay_ms=LONG_MS)])

    await frontier.free(lease, mark.now_us // 1000)
    await frontier.conclude(lease, EntryDisposition.CLOSE)

    assert (await frontier.release()).next_due_ms == mark.now_us // 1000 + LONG_MS


async def test_an_unset_group_has_the_default_delay(frontier: FrontierWorld) -> None:
    """Until the owner knows better, it has the working set's default delay."""
    frontier.working_set = frontier.owner(default_delay_ms=LONG_MS)
    await frontier.open()
    await frontier.accept(page("1"), page("2"))
    lease = await frontier.release_one()
    mark = await frontier.mark(lease)

    await frontier.free(lease, mark.now_us // 1000)

    assert await frontier.released() == []
