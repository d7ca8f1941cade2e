"""Requests that take the place of a page: robots.txt comes first."""

from __future__ import annotations

from dataclasses import replace

from strider.frontier.models import EntryDisposition, HostGroupState, LookupStatus, StartResult
from tests.contract.working_set.implementations.frontiers import FrontierWorld, page

ROBOTS = page("robots.txt", kind="robots")


async def test_a_robots_request_takes_the_place_of_a_page(frontier: FrontierWorld) -> None:
    """Its page goes back to the head of the queue, and the group waits for the rules."""
    await frontier.open()
    await frontier.accept(page("first"), page("second"), page("better", priority=1))
    lease = await frontier.release_one()

    robots = await frontier.swap(lease, ROBOTS)

    assert robots is not None
    sequence = robots.entry.fetch_sequence
    assert robots.entry == replace(ROBOTS, fetch_sequence=sequence)
    assert sequence > lease.entry.fetch_sequence
    assert (await frontier.mark(lease)).result is StartResult.GONE
    assert await frontier.released() == []
    assert (await frontier.mark(robots)).result is StartResult.STARTED
    assert await frontier.free(robots) == "current"
    assert await frontier.released() == ["first"]


async def test_a_group_with_many_places_waits_for_its_robots_request(frontier: FrontierWorld) -> None:
    await frontier.open(HostGroupState("a.test", delay_ms=0, max_in_flight=4))
    await frontier.accept(page("1"))
    robots = await frontier.swap(await frontier.release_one(), ROBOTS)
    assert robots is not None
    await frontier.accept(page("2"), page("3"))

    before = await frontier.released()
    await frontier.free(robots)

    assert (before, await frontier.released()) == ([], ["1", "2", "3"])


async def test_a_started_or_lost_lease_is_not_swapped(frontier: FrontierWorld) -> None:
    """Another request for its page is in flight already."""
    await frontier.open()
    await frontier.accept(page("x"), page("y", "b.test"))
    one, two = (await frontier.release()).leases
    await frontier.mark(one)
    await frontier.conclude(two, EntryDisposition.CLOSE)

    assert await frontier.swap(one, ROBOTS) is None
    assert await frontier.swap(two, ROBOTS) is None
    assert await frontier.figures() == (0, 1, 0)


async def test_a_robots_outcome_counts_until_it_is_concluded_and_changes_no_entry(
    frontier: FrontierWorld,
) -> None:
    """Even where its URL was found as a page too."""
    await frontier.open()
    await frontier.accept(page("x", "b.test"))
    robots = await frontier.swap(await frontier.release_one(), replace(ROBOTS, group="b.test"))
    assert robots is not None
    await frontier.accept(page("robots.txt"))

    endings = [await frontier.free(robots), await frontier.free(robots)]
    await frontier.conclude(robots, EntryDisposition.CLOSE)
    endings.append(await frontier.free(robots))

    assert endings[:2] == ["current", "current"]
    assert (await frontier.look(page("robots.txt"))).status is LookupStatus.OPEN
    assert sorted(await frontier.released()) == ["robots.txt", "x"]


async def test_a_robots_request_that_ran_out_is_named_and_frees_its_group(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("x"))
    robots = await frontier.swap(await frontier.release_one(), ROBOTS, lease_ms=20)
    assert robots is not None
    await frontier.pass_ms(30)

    release = await frontier.release()

    assert release.expired == [robots]
    assert [given.entry.url for given in release.leases] == [page("x").url]
    await frontier.conclude(robots, EntryDisposition.CLOSE)
    assert (await frontier.release()).expired == []
