"""Shares of a host's time: a flow whose request held the host for longer than a turn gives others as much."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.constants import ROBOTS_KIND
from strider.frontier.models import EntryDisposition, HostGroupState, Lease
from tests.contract.working_set.implementations.frontiers import (
    EPOCH,
    SHARD,
    FrontierWorld,
    page,
    words,
)

pytestmark = pytest.mark.fault("A20", part="turns on a host are shares of its time")

OWNER, OTHER_OWNER, SLOW, OTHER = "nightly", "weekly", "raw.slow", "raw.other"
SLOW_MS = 500
"""Twice as long as a turn where the host has no delay: a raw sender owes an owner three seconds."""
ONE_AT_A_TIME = HostGroupState("a.test", 0, 1)


def pages(run: str, letter: str, count: int, **more: Any) -> list[EntryRecorded]:
    return [replace(page(f"{letter}{number}", **more), execution_id=run) for number in range(count)]


async def begin(frontier: FrontierWorld, *entries: EntryRecorded) -> None:
    await frontier.open(ONE_AT_A_TIME)
    await frontier.accept(*entries)


async def fetch(frontier: FrontierWorld, lease: Lease, *, took_ms: int = 0) -> None:
    """Make a request; one without a duration is not marked as started: no busy machine makes it slow."""
    started_at_ms = 0
    if took_ms:
        started_at_ms = (await frontier.mark(lease)).now_us // 1000
        await frontier.pass_ms(took_ms)
    await frontier.free(lease, started_at_ms)
    await frontier.conclude(lease, EntryDisposition.CLOSE)


async def fetch_next(frontier: FrontierWorld, *, took_ms: int = 0) -> str:
    lease = await frontier.release_one()
    await fetch(frontier, lease, took_ms=took_ms)
    return words([lease])[0]


async def fetched(frontier: FrontierWorld, times: int) -> list[str]:
    """Make so many requests, one after the other; return the letters of their runs."""
    return [(await fetch_next(frontier))[0] for _ in range(times)]


async def fetch_to(frontier: FrontierWorld, letter: str, *, took_ms: int) -> None:
    """Make requests until one is of the run with this letter, which takes so long."""
    while True:
        lease = await frontier.release_one()
        is_last = words([lease])[0].startswith(letter)
        await fetch(frontier, lease, took_ms=took_ms if is_last else 0)
        if is_last:
            return


async def wait_for_release(frontier: FrontierWorld) -> Lease:
    for _ in range(200):
        if leases := (await frontier.release()).leases:
            return leases[0]
        await frontier.pass_ms(100)
    raise AssertionError("nothing was released within 20 s")


async def test_a_slow_request_of_a_raw_sender_gives_its_time_to_an_owner(frontier: FrontierWorld) -> None:
    await begin(frontier, *pages(SLOW, "s", 3), *pages(OWNER, "o", 8))
    before = [await fetch_next(frontier), await fetch_next(frontier, took_ms=SLOW_MS)]

    after = await fetched(frontier, 6)

    assert (before, after) == (["o0", "s0"], ["o"] * 6)


async def test_it_waits_for_an_owner_whose_next_page_is_still_to_be_found(frontier: FrontierWorld) -> None:
    """A page that is linked from the one before is queued a moment after that was fetched."""
    await begin(frontier, *pages(SLOW, "s", 3), *pages(OWNER, "o", 2))
    await fetched(frontier, 1)
    await fetch_next(frontier, took_ms=SLOW_MS)
    await fetched(frontier, 1)

    early = await frontier.released()
    later = words([await wait_for_release(frontier)])

    assert (early, later) == ([], ["s1"])


async def test_turns_alternate_again_when_the_time_is_given_back(frontier: FrontierWorld) -> None:
    await begin(frontier, *pages(SLOW, "s", 3), *pages(OWNER, "o", 6))
    await fetched(frontier, 1)
    await fetch_next(frontier, took_ms=SLOW_MS)
    owed = await fetched(frontier, 2)

    await frontier.pass_ms(5_000)

    assert owed == ["o", "o"]
    assert sorted(await fetched(frontier, 4)) == ["o", "o", "s", "s"]


async def test_a_request_within_the_delay_of_the_host_owes_nothing(frontier: FrontierWorld) -> None:
    delay_ms = 900
    await begin(frontier, *pages(SLOW, "s", 4), *pages(OWNER, "o", 4))
    await frontier.working_set.set_host_groups(SHARD, EPOCH, [HostGroupState("a.test", delay_ms, 1)])
    found = []
    for _ in range(4):
        found.append((await fetch_next(frontier, took_ms=SLOW_MS))[0])
        await frontier.pass_ms(delay_ms + 5 - SLOW_MS)

    assert found == ["o", "s", "o", "s"]


async def test_a_flow_that_is_alone_waits_for_none(frontier: FrontierWorld) -> None:
    await begin(frontier, *pages(SLOW, "s", 3))
    await fetch_next(frontier, took_ms=SLOW_MS)

    assert await frontier.released() == ["s1"]


async def test_a_host_that_is_slow_for_all_is_shared_in_turns(frontier: FrontierWorld) -> None:
    """What an owner's request takes is no fault of the raw sender: it pays back what he owes."""
    await begin(frontier, *pages(SLOW, "s", 3), *pages(OWNER, "o", 3))
    await fetched(frontier, 1)
    await fetch_next(frontier, took_ms=SLOW_MS)

    owners = await fetch_next(frontier, took_ms=2 * SLOW_MS)

    assert (owners, await frontier.released()) == ("o1", ["s1"])


async def test_other_names_of_a_sender_take_no_more_than_half_of_the_time(frontier: FrontierWorld) -> None:
    """Names cost their sender nothing: raw senders together owe an owner as much as one of them took."""
    await begin(frontier, *pages(SLOW, "s", 2), *pages(OTHER, "r", 3), *pages(OWNER, "o", 9))
    await fetch_to(frontier, "s", took_ms=2_000)

    owed = await fetched(frontier, 3)
    await frontier.pass_ms(2_005)

    assert owed == ["o"] * 3
    assert set(await fetched(frontier, 2)) == {"o", "r"}


async def test_raw_senders_share_the_time_of_a_host_equally(frontier: FrontierWorld) -> None:
    await begin(frontier, *pages(SLOW, "s", 3), *pages(OTHER, "r", 6))
    await fetch_to(frontier, "s", took_ms=2_000)

    owed = await fetched(frontier, 3)
    await frontier.pass_ms(2_005)

    assert owed == ["r"] * 3
    assert set(await fetched(frontier, 2)) == {"r", "s"}


async def test_an_owner_owes_time_to_other_owners_alone(frontier: FrontierWorld) -> None:
    """A raw sender gets its turns beside a slow run of an owner, and no more of them."""
    runs = (*pages(OWNER, "o", 9), *pages(OTHER_OWNER, "w", 9), *pages(OTHER, "r", 9))
    await begin(frontier, *runs)
    slow = await fetch_next(frontier, took_ms=2_000)

    after = await fetched(frontier, 4)

    paid = "w" if slow.startswith("o") else "o"
    assert after == ["r", paid, "r", paid]


async def test_a_slow_robots_txt_is_time_of_the_flow_that_needs_it(frontier: FrontierWorld) -> None:
    await begin(frontier, *pages(SLOW, "s", 3), *pages(OWNER, "o", 8))
    await fetched(frontier, 1)
    request = replace(page("robots.txt", kind=ROBOTS_KIND), execution_id=SLOW)
    robots = await frontier.swap(await frontier.release_one(), request)
    assert robots is not None

    await fetch(frontier, robots, took_ms=SLOW_MS)

    assert await fetched(frontier, 4) == ["o"] * 4


async def test_the_next_owner_of_the_shard_knows_what_is_owed(frontier: FrontierWorld) -> None:
    await begin(frontier, *pages(SLOW, "s", 3), *pages(OWNER, "o", 8))
    await fetched(frontier, 1)
    await fetch_next(frontier, took_ms=SLOW_MS)

    frontier.working_set = frontier.other_process()
    await frontier.working_set.take_over(SHARD, EPOCH)

    assert await fetched(frontier, 4) == ["o"] * 4
