"""A host with very many entries takes its turn among the others, and no more."""

from __future__ import annotations

from strider.stores.frontier.ports import Fate, Room

from .worlds import FrontierWorld, page

SMALL_HOSTS, PAGES_EACH = 20, 5
LARGE_PAGES = 400


async def looks_until_small_are_done(frontier: FrontierWorld) -> int:
    """Release five at a time, which is fewer than there are hosts, and close at once."""
    left, looks = SMALL_HOSTS * PAGES_EACH, 0
    while left:
        looks += 1
        for lease in (await frontier.release(limit=5)).leases:
            await frontier.conclude(lease, Fate.CLOSE)
            left -= lease.entry.group != "large.test"
    return looks


async def test_small_hosts_finish_as_fast_beside_a_large_one(frontier: FrontierWorld) -> None:
    """It gets one turn in as many as there are hosts, and not its four fifths of the queue."""
    small = [page(f"p{n}", f"h{host}.test") for host in range(SMALL_HOSTS) for n in range(PAGES_EACH)]
    frontier.working_set = frontier.owner(room=Room(group_entries=100))
    await frontier.open()
    await frontier.accept(*small)
    alone = await looks_until_small_are_done(frontier)

    await frontier.open()
    await frontier.accept(*(page(f"p{n}", "large.test") for n in range(LARGE_PAGES)), *small)
    beside = await looks_until_small_are_done(frontier)

    assert alone == SMALL_HOSTS * PAGES_EACH // 5
    assert beside <= alone + PAGES_EACH
