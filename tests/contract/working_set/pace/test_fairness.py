"""A host with very many entries takes its turn among the others, and no more."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from strider.frontier.models import EntryDisposition, QueueLimits
from tests.contract.working_set.implementations.frontiers import FrontierWorld, page


@dataclass(frozen=True)
class Load:
    """One large host and many small ones."""

    hosts: int
    pages_each: int
    large: int
    """Pages of the large one."""
    at_a_time: int
    """Released by one look: fewer than there are hosts."""


async def looks_until_small_are_done(frontier: FrontierWorld, load: Load) -> int:
    """Close at once what was released."""
    left, looks = load.hosts * load.pages_each, 0
    while left:
        looks += 1
        for lease in (await frontier.release(limit=load.at_a_time)).leases:
            await frontier.conclude(lease, EntryDisposition.CLOSE)
            left -= lease.entry.group != "large.test"
    return looks


@pytest.mark.parametrize(
    "load",
    [
        pytest.param(Load(hosts=20, pages_each=5, large=400, at_a_time=5), id="short"),
        pytest.param(
            Load(hosts=1_000, pages_each=10, large=100_000, at_a_time=200), id="long", marks=pytest.mark.slow
        ),
    ],
)
async def test_small_hosts_finish_as_fast_beside_a_large_one(frontier: FrontierWorld, load: Load) -> None:
    """It gets one turn in as many as there are hosts, and not its nine tenths of the queue."""
    small = [page(f"p{n}", f"h{host}.test") for host in range(load.hosts) for n in range(load.pages_each)]
    frontier.working_set = frontier.owner(limits=QueueLimits(entries_per_group=load.large // 4))
    await frontier.open()
    await frontier.accept(*small)
    alone = await looks_until_small_are_done(frontier, load)

    await frontier.open()
    for first in range(0, load.large, 5_000):
        numbers = range(first, min(first + 5_000, load.large))
        await frontier.accept(*(page(f"p{n}", "large.test") for n in numbers))
    await frontier.accept(*small)
    beside = await looks_until_small_are_done(frontier, load)

    assert alone == load.hosts * load.pages_each // load.at_a_time
    assert beside <= alone + load.pages_each
