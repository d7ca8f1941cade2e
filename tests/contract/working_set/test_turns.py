"""Turns: priorities share by weight, and no run's flood holds back another run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.models import EntryDisposition, HostGroupState, QueueLimits
from strider.frontier.turns import PRIORITY_TURNS
from tests.contract.working_set.implementations.frontiers import LONG_MS, FrontierWorld, page

OWN, RAW = "nightly", "raw.flood"


def of_run(name: str, group: str, run: str, **changes: Any) -> EntryRecorded:
    return replace(page(name, group, **changes), job_id=run, execution_id=run)


async def release_all(frontier: FrontierWorld, *, at_a_time: int) -> list[EntryRecorded]:
    """Return all entries in the order of their release; each is closed at once."""
    order: list[EntryRecorded] = []
    while leases := (await frontier.release(limit=at_a_time)).leases:
        for lease in leases:
            await frontier.conclude(lease, EntryDisposition.CLOSE)
        order += [lease.entry for lease in leases]
    return order


@pytest.mark.fault("B6", part="priorities share by weight")
@pytest.mark.req("S3.5.10", part="between hosts, priorities share by weight")
@pytest.mark.parametrize("at_a_time", [1, 4, 100])
async def test_due_hosts_share_by_the_weight_of_their_priority(
    frontier: FrontierWorld, at_a_time: int
) -> None:
    """8, 4, 2 and 1 of 15 releases, however few a call may release."""
    await frontier.open()
    entries = [
        page(f"p{priority}", f"h{number}-{priority}.test", priority=priority)
        for number in range(60)
        for priority in range(4)
    ]
    await frontier.accept(*entries)

    order = [entry.priority for entry in await release_all(frontier, at_a_time=at_a_time)]

    assert order[: len(PRIORITY_TURNS)] == list(PRIORITY_TURNS)
    assert Counter(order[:105]) == {3: 56, 2: 28, 1: 14, 0: 7}
    assert Counter(order) == dict.fromkeys(range(4), 60)


@pytest.mark.parametrize("at_a_time", [1, 7, 50])
async def test_a_flood_of_one_run_on_many_hosts_delays_no_other_run(
    frontier: FrontierWorld, at_a_time: int
) -> None:
    """Every other release is the other run's while it has something due; nothing is left unused."""
    await frontier.open()
    await frontier.accept(
        *(of_run(f"f{number}", f"flood{number}.test", RAW, priority=3) for number in range(400))
    )
    await frontier.pass_ms(2)
    await frontier.accept(*(of_run(f"p{number}", f"own{number}.test", OWN) for number in range(50)))

    order = [entry.job_id for entry in await release_all(frontier, at_a_time=at_a_time)]

    assert Counter(order[:100]) == {OWN: 50, RAW: 50}
    assert Counter(order) == {OWN: 50, RAW: 400}


async def test_runs_take_turns_on_one_host_and_each_serves_its_best_page_first(
    frontier: FrontierWorld,
) -> None:
    await frontier.open()
    await frontier.accept(*(of_run(f"f{number}", "a.test", RAW, priority=3) for number in range(20)))
    await frontier.accept(of_run("low", "a.test", OWN, priority=0), of_run("high", "a.test", OWN, priority=2))

    order = [entry.url.rpartition("/")[2] for entry in await release_all(frontier, at_a_time=1)]

    assert order[:4] == ["high", "f0", "low", "f1"]
    assert len(order) == 22


async def test_a_flood_fills_its_own_part_of_a_host(frontier: FrontierWorld) -> None:
    """What it has queued there leaves the room of another run as it is."""
    frontier.working_set = frontier.owner(limits=QueueLimits(entries_per_group=3))
    await frontier.open(HostGroupState("a.test", LONG_MS))
    await frontier.accept(*(of_run(f"f{number}", "a.test", RAW) for number in range(10)))
    await frontier.accept(*(of_run(f"p{number}", "a.test", OWN) for number in range(3)))

    queued, leased, _ = await frontier.figures()

    assert (queued, leased) == (6, 0)


async def test_a_released_group_is_due_again_for_the_run_whose_turn_it_is(frontier: FrontierWorld) -> None:
    """Beside other hosts too: the turns of a host are kept while its entries wait."""
    await frontier.open(HostGroupState("a.test", 0, 2))
    await frontier.accept(*(of_run(f"f{number}", "a.test", RAW) for number in range(4)))
    await frontier.accept(*(of_run(f"p{number}", "a.test", OWN) for number in range(4)))
    both = (await frontier.release()).leases
    for lease in both:
        await frontier.conclude(lease, EntryDisposition.CLOSE)

    again = (await frontier.release()).leases

    assert sorted(lease.entry.job_id for lease in both) == [OWN, RAW]
    assert sorted(lease.entry.job_id for lease in again) == [OWN, RAW]
