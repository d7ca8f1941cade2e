"""Paces of raw senders: what one asks for beyond the delay of the host holds for its own flow alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.constants import MAX_PACES, MAX_PACES_OF_FLOW, ROBOTS_KIND
from strider.frontier.models import EntryDisposition, HostGroupState, HostPace, Lease
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
DEFAULT_MS = 400
"""The deployment's delay."""
SHORT_MS, LONG_MS = 100, 60_000
BY_SPECS = HostGroupState("a.test", None, None)
OWNER, RAW, OTHER = "nightly", "raw.slow", "adhoc-20300101-0"
PACES = {
    "short": HostPace(SHORT_MS),
    "unset": HostPace(None),
    "long": HostPace(LONG_MS),
    "twice": HostPace(2 * DEFAULT_MS),
    "free": HostPace(0, 3),
}


def entry(name: str, run: str, spec: str, **changes: Any) -> EntryRecorded:
    return replace(page(name), execution_id=run, crawl_spec_id=spec, **changes)


async def begin(frontier: FrontierWorld, *entries: EntryRecorded, default_ms: int = DEFAULT_MS) -> None:
    frontier.working_set = frontier.owner(default_delay_ms=default_ms)
    await frontier.open(BY_SPECS)
    await accept(frontier, *entries)


async def accept(frontier: FrontierWorld, *entries: EntryRecorded) -> None:
    await frontier.working_set.accept(SHARD, EPOCH, [accepted(each) for each in entries], paces=PACES)


async def fetch(frontier: FrontierWorld, lease: Lease) -> None:
    started_at_ms = (await frontier.mark(lease)).now_us // 1000
    await frontier.free(lease, started_at_ms)
    await frontier.conclude(lease, CLOSE)


async def fetched_in_turn(frontier: FrontierWorld, times: int, *, every_ms: int) -> list[str]:
    """Make the next request as often, each so long after the one before."""
    found = []
    for _ in range(times):
        leases = (await frontier.release()).leases
        found += words(leases)
        for lease in leases:
            await fetch(frontier, lease)
        await frontier.pass_ms(every_ms + 5)
    return found


@pytest.mark.fault("A4", part="a delay of raw seeds holds for their own requests")
@pytest.mark.parametrize(("run", "spec"), [(OWNER, "short"), (OTHER, "unset")], ids=["owner", "raw"])
async def test_a_long_delay_of_a_raw_sender_slows_no_other_run(
    frontier: FrontierWorld, run: str, spec: str
) -> None:
    pace_ms = SHORT_MS if run == OWNER else DEFAULT_MS
    slow = [entry(f"s{number}", RAW, "long") for number in range(3)]
    await begin(frontier, *slow, *(entry(str(number), run, spec) for number in range(4)))

    found = await fetched_in_turn(frontier, 5, every_ms=pace_ms)

    assert sorted(found) == ["0", "1", "2", "3", "s0"]


@pytest.mark.fault("A4", part="a delay of raw seeds holds for their own requests")
async def test_the_delay_of_a_raw_sender_holds_for_its_own_requests(frontier: FrontierWorld) -> None:
    """From the start of its request; while that is in flight, no other of the flow begins."""
    slow = [entry("s1", RAW, "twice"), entry("s2", RAW, "twice")]
    await begin(frontier, *slow, entry("1", OWNER, "free"), entry("2", OWNER, "free"))
    first = (await frontier.release()).leases
    beside = await frontier.released()

    for lease in first:
        await fetch(frontier, lease)
    await frontier.pass_ms(DEFAULT_MS + 5)
    early = await frontier.released()
    await frontier.pass_ms(DEFAULT_MS + 5)

    assert (sorted(words(first)), beside, early) == (["1", "2", "s1"], [], [])
    assert await frontier.released() == ["s2"]


@pytest.mark.fault("A4", part="a raw seed without a delay")
async def test_a_raw_sender_without_a_delay_goes_at_the_pace_of_the_owner(frontier: FrontierWorld) -> None:
    raw = [entry(f"r{number}", RAW, "unset") for number in range(2)]
    await begin(frontier, *raw, *(entry(str(number), OWNER, "short") for number in range(2)))

    found = await fetched_in_turn(frontier, 4, every_ms=SHORT_MS)

    assert sorted(found) == ["0", "1", "r0", "r1"]


@pytest.mark.fault("A4", part="a raw seed without a delay")
async def test_the_delay_of_the_deployment_holds_among_raw_senders(frontier: FrontierWorld) -> None:
    """An owner's shorter one ends with the last of its entries; the next request is a delay later again."""
    raw = [entry(f"r{number}", RAW, "unset") for number in range(3)]
    await begin(frontier, entry("1", OWNER, "short"), *raw)
    await fetch(frontier, await frontier.release_one())
    await frontier.pass_ms(DEFAULT_MS + 5)
    await fetch(frontier, await frontier.release_one())
    await frontier.pass_ms(SHORT_MS + 5)

    early = await frontier.released()
    await frontier.pass_ms(DEFAULT_MS + 5)

    assert (early, len(await frontier.released())) == ([], 1)


@pytest.mark.fault("A4", part="a delay of raw seeds holds for their own requests")
async def test_the_fewest_requests_in_flight_of_raw_senders_limit_no_owner(frontier: FrontierWorld) -> None:
    await begin(
        frontier, entry("r", RAW, "unset"), *(entry(str(number), OWNER, "free") for number in range(3))
    )

    assert len((await frontier.release()).leases) == 3


@pytest.mark.fault("A4", part="a delay of raw seeds holds for their own requests")
async def test_an_exchanged_or_unused_lease_frees_its_flow(frontier: FrontierWorld) -> None:
    """Its request was not made: neither the robots.txt that precedes it nor a failure uses up the delay."""
    await begin(frontier, entry("s1", RAW, "long"), entry("s2", RAW, "long"), default_ms=0)
    robots = await frontier.swap(await frontier.release_one(), page("robots.txt", kind=ROBOTS_KIND))
    assert robots is not None
    await frontier.free(robots)
    await frontier.conclude(robots, CLOSE)
    lease = await frontier.release_one()
    await frontier.free(lease)
    await frontier.conclude(lease, CLOSE)

    assert (words([lease]), await frontier.released()) == (["s1"], ["s2"])


@pytest.mark.fault("A4", part="a delay of raw seeds holds for their own requests")
async def test_the_delay_of_a_raw_sender_counts_from_a_rebuild(frontier: FrontierWorld) -> None:
    """When its last request was made is not known then; others are not held back."""
    frontier.working_set = frontier.owner(default_delay_ms=0)
    await frontier.working_set.take_over(SHARD, EPOCH)
    await frontier.working_set.begin_rebuild(SHARD, EPOCH)
    queued = [entry("s", RAW, "twice"), entry("1", OTHER, "free")]
    await frontier.working_set.load(
        SHARD, EPOCH, queued=[RecordedEntry.of(each) for each in queued], paces=PACES
    )
    await frontier.working_set.finish_rebuild(SHARD, EPOCH, groups=[BY_SPECS], sequence=0)

    at_once = await frontier.release_one()
    await fetch(frontier, at_once)
    early = await frontier.released()
    await frontier.pass_ms(2 * DEFAULT_MS + 5)

    assert (words([at_once]), early, await frontier.released()) == (["1"], [], ["s"])


@pytest.mark.fault("A4", part="a delay of raw seeds holds for their own requests")
async def test_very_many_paces_of_raw_senders_leave_an_owner_his(frontier: FrontierWorld) -> None:
    """Those of a flow are counted together; an owner's is not one of them."""
    flows, each_flow = 40, MAX_PACES_OF_FLOW + 2
    paces = {f"s{number}": HostPace(LONG_MS - number) for number in range(each_flow)}
    many = [entry(f"{run}-{spec}", f"raw.{run}", spec) for run in range(flows) for spec in paces]
    await begin(frontier, default_ms=0)
    await frontier.working_set.accept(SHARD, EPOCH, [accepted(each) for each in many], paces=paces)
    assert len(many) > MAX_PACES
    await accept(frontier, *(entry(str(number), OWNER, "short") for number in range(2)))

    found: list[str] = []
    for _ in range(2 * flows):
        lease = await frontier.release_one()
        found.append(lease.entry.execution_id)
        await fetch(frontier, lease)
        await frontier.pass_ms(SHORT_MS + 5)
        if found.count(OWNER) == 2:
            break
    for each in many:
        await frontier.conclude_entry(each, CLOSE)
    await accept(frontier, entry("a", OWNER, "free"), entry("b", OWNER, "free"))

    assert len(found) <= 4
    assert sorted(await frontier.released()) == ["a", "b"]
