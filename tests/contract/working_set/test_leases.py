"""What becomes of a page once it is given away: leases, marks, outcomes, fates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.frontier.models import EntryDisposition, EntryLookupResult, LeaseState, LookupStatus, StartResult
from tests.contract.working_set.implementations.frontiers import (
    EPOCH,
    LEASE_MS,
    LONG_MS,
    SHARD,
    FrontierWorld,
    page,
)

ROBOTS = page("robots.txt", kind="robots")


async def test_a_lease_has_its_owner_and_its_expiry(frontier: FrontierWorld) -> None:
    await frontier.open(sequence=LONG_MS)
    await frontier.accept(page("x"))

    release = await frontier.release()

    [lease] = release.leases
    sequence = lease.entry.fetch_sequence
    assert lease.lease_id == f"{SHARD}-{EPOCH:x}-{sequence}"
    assert lease.entry == page("x", fetch_sequence=sequence)
    assert (lease.issued_at_ms, lease.expires_at_ms) == (release.now_ms, release.now_ms + LEASE_MS)
    assert (lease.state, release.expired) == (LeaseState.ISSUED, [])
    assert await frontier.look(page("x")) == EntryLookupResult(LookupStatus.OPEN, lease.entry)
    assert await frontier.figures() == (0, 1, 0)


async def test_fetch_sequences_grow_for_ever(frontier: FrontierWorld) -> None:
    """A number given twice could start one page's request in another's name."""
    far = 2**45
    await frontier.open(sequence=far)
    await frontier.accept(page("1", "a.test"), page("2", "b.test"))
    before = [lease.entry.fetch_sequence for lease in (await frontier.release()).leases]

    await frontier.pass_ms(5)
    await frontier.open(sequence=far)
    await frontier.accept(page("3"))
    fresh = await frontier.release_one()

    assert sorted(before) == [far + 1, far + 2]
    assert fresh.entry.fetch_sequence > far


async def test_sequences_outgrow_leases_that_were_never_recorded(frontier: FrontierWorld) -> None:
    """A lost store took the leases with it; the log knows only those that had an outcome."""
    await frontier.open(sequence=0)
    await frontier.accept(page("1"))
    before = await frontier.release_one()

    await frontier.pass_ms(5)
    await frontier.open(sequence=0)
    await frontier.accept(page("2"))
    after = await frontier.release_one()

    assert after.entry.fetch_sequence > before.entry.fetch_sequence
    assert (await frontier.mark(before)).result is StartResult.GONE


@pytest.mark.req("S3.12.2", "S3.19.1", "S3.19.2")
@pytest.mark.req("S3.8.9", part="the lock, as a lease of the request; no keys for rules and delay")
async def test_a_mark_starts_a_request_once(frontier: FrontierWorld) -> None:
    """Of two fetchers with the same request one makes it."""
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one()

    first = await frontier.mark(lease, nonce="one")
    other = await frontier.mark(lease, nonce="two")
    again = await frontier.mark(lease, nonce="one")

    assert first.result is StartResult.STARTED
    assert lease.issued_at_ms <= first.now_us // 1000 < lease.expires_at_ms
    assert again == first
    assert other.result is StartResult.GONE


async def test_results_of_marks_of_many_shards_keep_their_order(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("x", "a.test"), page("y", "b.test"))
    one, two = (await frontier.release()).leases
    asked = [(SHARD + 1, one.lease_id), (SHARD, two.lease_id), (SHARD, "nonsense"), (SHARD, one.lease_id)]

    marks = await frontier.marks.mark_started(asked, nonce="n", deadline_ms=1_000)

    assert [mark.result for mark in marks] == ["gone", "started", "gone", "started"]
    assert await frontier.marks.mark_started([], nonce="n", deadline_ms=1_000) == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(f"{SHARD}-{EPOCH + 1:x}-{{sequence}}", id="another-epoch"),
        pytest.param(f"{SHARD}-{EPOCH:x}-1", id="a-sequence-before-the-first"),
        pytest.param("", id="nothing"),
        pytest.param("7-zz-ü", id="no-numbers"),
        pytest.param(f"{SHARD}-{EPOCH:x}-{2**70}", id="beyond-all-numbers"),
    ],
)
async def test_a_lease_that_was_not_given_cannot_be_marked(frontier: FrontierWorld, name: str) -> None:
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one()
    wrong = name.format(sequence=lease.entry.fetch_sequence)

    [mark] = await frontier.marks.mark_started([(SHARD, wrong)], nonce="n", deadline_ms=1_000)

    assert mark.result is StartResult.GONE
    assert (await frontier.mark(lease)).result is StartResult.STARTED


async def test_nothing_is_marked_while_a_shard_is_rebuilt(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one()
    await frontier.working_set.begin_rebuild(SHARD, EPOCH)

    assert (await frontier.mark(lease)).result is StartResult.GONE


async def test_a_lease_that_ran_out_cannot_be_marked(frontier: FrontierWorld) -> None:
    """Also before the owner has looked: the entry may be given to another at any moment."""
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one(lease_ms=20)

    await frontier.pass_ms(30)

    assert (await frontier.mark(lease)).result is StartResult.GONE


@pytest.mark.req("S3.19.3")
async def test_a_lease_that_was_never_started_runs_out(frontier: FrontierWorld) -> None:
    """The request was lost on its way; the group continues, the entry waits for its disposition."""
    await frontier.open()
    await frontier.accept(page("x"), page("y"))
    lease = await frontier.release_one(lease_ms=20)
    await frontier.pass_ms(30)

    release = await frontier.release()

    assert release.expired == [lease]
    assert [given.entry.url for given in release.leases] == [page("y").url]
    assert (await frontier.release()).expired == [lease]
    await frontier.conclude(lease, EntryDisposition.QUEUE)
    assert (await frontier.release()).expired == []
    assert (await frontier.look(page("x"))).entry == lease.entry


async def test_what_ran_out_is_named_also_where_nothing_more_may_go(frontier: FrontierWorld) -> None:
    """A shard that is full of leases that ran out gets room again only by being told of them."""
    await frontier.open()
    await frontier.accept(page("x"), page("y"))
    lease = await frontier.release_one(lease_ms=20)
    await frontier.pass_ms(30)

    release = await frontier.release(limit=0)

    assert (release.leases, release.expired) == ([], [lease])


async def test_a_started_lease_lasts_for_its_deadline_and_a_margin(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one(lease_ms=40)
    mark = await frontier.mark(lease, deadline_ms=50)

    await frontier.pass_ms(60)
    during = await frontier.release()
    await frontier.pass_ms(60)
    after = await frontier.release()

    ends_at_ms = mark.now_us // 1000 + 50 + 50
    assert (during.expired, during.next_due_ms) == ([], ends_at_ms)
    assert after.expired == [replace(lease, state=LeaseState.STARTED, expires_at_ms=ends_at_ms)]


async def test_the_next_look_is_not_after_the_first_lease_runs_out(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("x"))

    release = await frontier.release(lease_ms=500)

    assert release.next_due_ms == release.now_ms + 500
