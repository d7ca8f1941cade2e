"""Outcomes, and what becomes of entries then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.frontier.models import EntryDisposition, EntryLookupResult, LookupStatus, RunEntryCounts
from tests.contract.working_set.implementations.frontiers import EPOCH, LONG_MS, SHARD, FrontierWorld, page

ROBOTS = page("robots.txt", kind="robots")


async def test_an_outcome_counts_until_it_is_concluded(frontier: FrontierWorld) -> None:
    """A crash between the outcome and its record repeats the outcome; after the record it is old."""
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one()
    await frontier.mark(lease)

    endings = [await frontier.free(lease), await frontier.free(lease)]
    assert (await frontier.look(page("x"))).entry == lease.entry
    await frontier.conclude(lease, EntryDisposition.PIPELINE)
    endings.append(await frontier.free(lease))

    assert endings == ["current", "current", "stale"]
    assert await frontier.figures() == (0, 0, 1)


async def test_an_entry_is_not_released_between_its_outcome_and_its_disposition(
    frontier: FrontierWorld,
) -> None:
    """The record is committed a quarter of a second later; the group continues meanwhile."""
    await frontier.open()
    await frontier.accept(page("x"), page("y"))
    lease = await frontier.release_one()

    await frontier.free(lease)

    assert await frontier.released() == ["y"]
    await frontier.pass_ms(30)
    assert (await frontier.release()).expired == []


@pytest.mark.parametrize("fate", list(EntryDisposition))
async def test_a_concluded_outcome_is_stale(frontier: FrontierWorld, fate: EntryDisposition) -> None:
    """A redelivery after the crash of who concluded it."""
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one()
    await frontier.free(lease)
    await frontier.conclude(lease, fate, tries=1)

    assert await frontier.free(lease) == "stale"
    assert (await frontier.figures())[1] == 0


async def test_a_late_outcome_counts_where_no_lease_holds_the_entry(frontier: FrontierWorld) -> None:
    """Its lease ran out and the entry was queued again: the page is here all the same."""
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one(lease_ms=20)
    await frontier.pass_ms(30)
    await frontier.release()
    await frontier.conclude(lease, EntryDisposition.QUEUE, due_at_ms=lease.issued_at_ms + LONG_MS)

    ending = await frontier.free(lease)

    assert ending == "current"
    assert await frontier.released() == []
    assert await frontier.figures() == (0, 1, 0)
    await frontier.conclude(lease, EntryDisposition.PIPELINE)
    assert await frontier.figures() == (0, 0, 1)


async def test_an_outcome_that_came_before_its_lease_was_given_up_counts(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one(lease_ms=20)
    await frontier.pass_ms(30)
    await frontier.release()

    assert await frontier.free(lease) == "current"
    assert (await frontier.release()).expired == []


async def test_an_outcome_is_stale_where_another_lease_has_the_entry(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("x"))
    first = await frontier.release_one(lease_ms=20)
    await frontier.pass_ms(30)
    await frontier.release()
    await frontier.conclude(first, EntryDisposition.QUEUE)
    second = await frontier.release_one()

    assert await frontier.free(first) == "stale"
    assert await frontier.free(second) == "current"


async def test_the_outcome_of_a_closed_entry_is_stale_but_frees_its_group(frontier: FrontierWorld) -> None:
    """A page may be settled before its outcome is read: the two come on different topics."""
    await frontier.open()
    await frontier.accept(page("x"), page("y"))
    lease = await frontier.release_one()
    await frontier.mark(lease)
    await frontier.conclude_entry(lease.entry, EntryDisposition.CLOSE)

    before = await frontier.released()
    ending = await frontier.free(lease)

    assert (before, ending) == ([], "stale")
    assert await frontier.released() == ["y"]


async def test_a_page_that_comes_again_waits_also_where_it_is_settled_first(frontier: FrontierWorld) -> None:
    """In a continuous crawl its entry is queued for its next round while its request is still out."""
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one()
    await frontier.mark(lease)
    again = replace(lease.entry, reason="due_again", due_at_ms=lease.issued_at_ms + 300)
    await frontier.conclude_entry(again, EntryDisposition.QUEUE)

    ending = await frontier.free(lease)
    await frontier.conclude_entry(again, EntryDisposition.QUEUE, lease_id=lease.lease_id)
    before = await frontier.released()
    await frontier.pass_ms(2_000)
    release = await frontier.release()

    assert (ending, before, release.expired) == ("stale", [], [])
    assert [each.entry.reason for each in release.leases] == ["due_again"]
    assert release.leases[0].entry.fetch_sequence > lease.entry.fetch_sequence


async def test_a_seed_brings_what_waits_for_its_next_round(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one()
    await frontier.free(lease)
    due_at_ms = lease.issued_at_ms + LONG_MS
    await frontier.conclude(lease, EntryDisposition.QUEUE, due_at_ms=due_at_ms)
    waits = await frontier.released()

    await frontier.conclude_entry(replace(lease.entry, due_at_ms=lease.issued_at_ms), EntryDisposition.QUEUE)
    await frontier.pass_ms(1_100)

    assert (waits, await frontier.released()) == ([], ["x"])


async def test_a_closed_entry_whose_outcome_never_comes_is_not_named_again(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("x"), page("y"))
    lease = await frontier.release_one(lease_ms=20)
    await frontier.conclude_entry(lease.entry, EntryDisposition.CLOSE)
    await frontier.pass_ms(30)

    release = await frontier.release()

    assert release.expired == []
    assert [given.entry.url for given in release.leases] == [page("y").url]
    assert await frontier.figures() == (0, 1, 0)


@pytest.mark.parametrize(
    ("fate", "figures", "standing"),
    [
        pytest.param(EntryDisposition.QUEUE, (1, 0, 0), LookupStatus.OPEN, id="queue"),
        pytest.param(EntryDisposition.PIPELINE, (0, 0, 1), LookupStatus.OPEN, id="pipeline"),
        pytest.param(EntryDisposition.CLOSE, (0, 0, 0), LookupStatus.SEEN, id="close"),
        pytest.param(EntryDisposition.CLOSE_AND_FORGET, (0, 0, 0), LookupStatus.UNKNOWN, id="forget"),
    ],
)
async def test_a_disposition_ends_the_lease_and_may_be_repeated(
    frontier: FrontierWorld, fate: EntryDisposition, figures: tuple[int, int, int], standing: LookupStatus
) -> None:
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one()

    for _ in range(2):
        await frontier.conclude(lease, fate, tries=1)

        assert await frontier.figures() == figures
        known = await frontier.look(page("x"))
        assert known.status is standing
        assert known.entry == (replace(lease.entry, tries=1) if standing is LookupStatus.OPEN else None)


async def test_an_older_conclusion_leaves_an_entry_as_it_is(frontier: FrontierWorld) -> None:
    """Two batches of different topics decide about one entry; the later fetch wins."""
    await frontier.open()
    await frontier.accept(page("x"))
    first = await frontier.release_one()
    await frontier.conclude(first, EntryDisposition.QUEUE)
    second = await frontier.release_one()

    await frontier.conclude(first, EntryDisposition.CLOSE)
    held = await frontier.look(page("x"))
    await frontier.conclude(second, EntryDisposition.PIPELINE)
    await frontier.conclude(first, EntryDisposition.QUEUE)

    assert held.entry == second.entry
    assert await frontier.figures() == (0, 0, 1)


async def test_the_lease_that_has_an_entry_may_conclude_it_whatever_its_sequence(
    frontier: FrontierWorld,
) -> None:
    """Nothing may stay taken by a lease that is gone."""
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one()

    await frontier.conclude(lease, EntryDisposition.QUEUE, fetch_sequence=0)

    assert await frontier.released() == ["x"]


async def test_a_closed_entry_is_not_brought_back(frontier: FrontierWorld) -> None:
    """Its page was settled while its outcome waited for its commit."""
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one()
    await frontier.free(lease)
    await frontier.conclude_entry(lease.entry, EntryDisposition.CLOSE)

    await frontier.conclude(lease, EntryDisposition.PIPELINE)

    assert await frontier.look(page("x")) == EntryLookupResult(LookupStatus.SEEN)
    assert await frontier.figures() == (0, 0, 0)


async def test_a_page_that_failed_comes_again_when_it_is_due(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one()
    await frontier.free(lease)
    now_ms = (await frontier.release()).now_ms
    await frontier.conclude(lease, EntryDisposition.QUEUE, due_at_ms=now_ms + 40, tries=1)

    early = await frontier.released()
    await frontier.pass_ms(50)
    again = await frontier.release_one()

    assert early == []
    assert again.entry.tries == 1
    assert again.entry.fetch_sequence > lease.entry.fetch_sequence


async def test_counts_follow_an_entry_into_another_execution(frontier: FrontierWorld) -> None:
    """A later run takes over what the earlier one left open."""
    await frontier.open()
    await frontier.accept(page("x"), page("y"))

    await frontier.conclude_entry(page("x", execution_id="news-2"), EntryDisposition.QUEUE)
    await frontier.conclude_entry(page("y"), EntryDisposition.CLOSE)

    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {
        "news-1": RunEntryCounts(open=0, accepted=2),
        "news-2": RunEntryCounts(open=1, accepted=0),
    }
