"""What is accepted, in which order it comes out, and what is known of it meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.frontier.models import (
    EntryDisposition,
    EntryLookupResult,
    HostGroupState,
    LookupStatus,
    RunEntryCounts,
)
from tests.contract.working_set.implementations.frontiers import (
    EPOCH,
    LONG_MS,
    SHARD,
    FrontierWorld,
    closed,
    page,
    question,
)


async def test_a_new_page_is_queued_seen_and_counted(frontier: FrontierWorld) -> None:
    await frontier.open()

    await frontier.accept(page("x", depth=2, referrer="https://a.test/from"))

    known = await frontier.look(page("x"))
    assert known == EntryLookupResult(LookupStatus.OPEN, page("x", depth=2, referrer="https://a.test/from"))
    assert await frontier.asked(page("x"), page("y")) == [True, False]
    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {
        "news-1": RunEntryCounts(open=1, accepted=1)
    }
    assert await frontier.figures() == (1, 0, 0)


async def test_accepting_again_changes_nothing(frontier: FrontierWorld) -> None:
    """A crash between the working set and the offset repeats the batch."""
    await frontier.open()
    await frontier.accept(page("x"))

    await frontier.accept(page("x", priority=3), page("x"))

    assert (await frontier.look(page("x"))).entry == page("x")
    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {
        "news-1": RunEntryCounts(open=1, accepted=1)
    }
    assert await frontier.released() == ["x"]


@pytest.mark.req("S3.4.4", "S3.5.3", "S4.17.2")
@pytest.mark.req("S3.2.6", part="entries of a higher priority first")
@pytest.mark.req("S3.5.10", part="priority first, then time, in the working set")
async def test_the_best_page_of_a_group_comes_first_and_among_equals_the_oldest(
    frontier: FrontierWorld,
) -> None:
    """Priority, then time."""
    await frontier.open()
    await frontier.accept(page("low", priority=1), page("medium-1", priority=2))
    await frontier.accept(page("high", priority=3), page("medium-2", priority=2), page("lowest", priority=0))

    order = []
    for _ in range(5):
        lease = await frontier.release_one()
        order.append(lease.entry.url.rpartition("/")[2])
        await frontier.conclude(lease, EntryDisposition.CLOSE)

    assert order == ["high", "medium-1", "medium-2", "low", "lowest"]


@pytest.mark.req("S4.8.3", part="recent failures and staleness")
async def test_of_what_comes_again_failures_and_stale_pages_come_first(frontier: FrontierWorld) -> None:
    await frontier.open()
    again = {"reason": "due_again", "fetched_at_ms": 1, "due_at_ms": 2}
    await frontier.accept(
        page("as-ever", **again),
        page("failed", **again, error_class="server_error"),
        page("stale", **again | {"due_at_ms": 8 * 24 * LONG_MS}),
        page("new", priority=3),
    )

    order = []
    for _ in range(4):
        lease = await frontier.release_one()
        order.append(lease.entry.url.rpartition("/")[2])
        await frontier.conclude(lease, EntryDisposition.CLOSE)

    assert order == ["new", "failed", "stale", "as-ever"]


async def test_the_best_groups_come_first_where_not_all_may_go(frontier: FrontierWorld) -> None:
    """The limit is the capacity of the pipeline: it is spent on what matters."""
    await frontier.open()
    await frontier.accept(page("x", "low.test", priority=1), page("x", "high.test", priority=3))

    [lease] = (await frontier.release(limit=1)).leases

    assert lease.entry.group == "high.test"


async def test_groups_of_equal_rank_take_turns(frontier: FrontierWorld) -> None:
    """One host with many pages must not starve the others."""
    await frontier.open()
    await frontier.accept(*(page(f"big-{number}", "big.test") for number in range(4)))
    await frontier.pass_ms(2)
    await frontier.accept(page("x", "small.test"))

    order = []
    for _ in range(3):
        await frontier.pass_ms(2)
        [lease] = (await frontier.release(limit=1)).leases
        order.append(lease.entry.group)
        await frontier.conclude(lease, EntryDisposition.CLOSE)

    assert order == ["big.test", "small.test", "big.test"]


async def test_a_page_is_not_released_before_it_is_due(frontier: FrontierWorld) -> None:
    await frontier.open()
    now_ms = (await frontier.release()).now_ms
    await frontier.accept(page("later", due_at_ms=now_ms + 60), page("now"))

    lease = await frontier.release_one()
    await frontier.conclude(lease, EntryDisposition.CLOSE)
    early = await frontier.release()
    await frontier.pass_ms(70)
    late = await frontier.release()

    assert lease.entry.url == page("now").url
    assert (early.leases, early.next_due_ms) == ([], now_ms + 60)
    assert late.leases[0].entry.url == page("later").url


async def test_nothing_queued_means_no_time_to_look_again(frontier: FrontierWorld) -> None:
    await frontier.open()

    release = await frontier.release()

    assert (release.leases, release.expired, release.next_due_ms) == ([], [], None)


async def test_what_the_limit_left_is_due_at_once(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("x", "a.test"), page("x", "b.test"))

    release = await frontier.release(limit=1)

    assert release.next_due_ms is not None
    assert release.next_due_ms <= release.now_ms


@pytest.mark.req("S4.17.2")
async def test_no_more_than_the_limit_is_released(frontier: FrontierWorld) -> None:
    await frontier.open(HostGroupState("a.test", delay_ms=0, max_in_flight=5))
    await frontier.accept(*(page(str(number)) for number in range(4)), page("x", "b.test"))

    assert len((await frontier.release(limit=3)).leases) == 3
    assert len((await frontier.release(limit=0)).leases) == 0
    assert len((await frontier.release(limit=3)).leases) == 2


async def test_a_page_closed_while_queued_is_not_released(frontier: FrontierWorld) -> None:
    """A cancelled run's pages stay where they are in their queues, deserted."""
    await frontier.open()
    await frontier.accept(*(page(str(number)) for number in range(5)))
    for number in (0, 1, 3):
        await frontier.conclude_entry(page(str(number)), EntryDisposition.CLOSE)

    lease = await frontier.release_one()
    await frontier.conclude(lease, EntryDisposition.CLOSE)

    assert lease.entry.url == page("2").url
    assert await frontier.released() == ["4"]
    assert await frontier.figures() == (0, 1, 0)


async def test_a_page_closed_and_opened_again_has_one_place_in_its_queue(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("again"), page("other"))
    await frontier.conclude_entry(page("again"), EntryDisposition.CLOSE)
    await frontier.accept(page("again"))

    order = []
    while (leases := (await frontier.release()).leases) and len(order) < 9:
        order.append(leases[0].entry.url.rpartition("/")[2])
        await frontier.conclude(leases[0], EntryDisposition.CLOSE)

    assert order == ["other", "again"]


async def test_a_page_that_waits_and_is_closed_never_comes(frontier: FrontierWorld) -> None:
    await frontier.open()
    now_ms = (await frontier.release()).now_ms
    await frontier.accept(page("x", due_at_ms=now_ms + 20))
    await frontier.conclude_entry(page("x"), EntryDisposition.CLOSE)
    await frontier.pass_ms(30)

    assert await frontier.released() == []


async def test_a_waiting_page_may_be_made_due_at_once(frontier: FrontierWorld) -> None:
    await frontier.open()
    now_ms = (await frontier.release()).now_ms
    await frontier.accept(page("x", due_at_ms=now_ms + LONG_MS))

    await frontier.conclude_entry(page("x", due_at_ms=now_ms), EntryDisposition.QUEUE)

    assert await frontier.released() == ["x"]


async def test_many_pages_are_taken_in_one_call(frontier: FrontierWorld) -> None:
    """More than any one script call carries."""
    await frontier.open()
    many = [page(str(number), f"h{number % 50}.test") for number in range(2_300)]

    await frontier.accept(*many)

    known = await frontier.working_set.lookup(SHARD, EPOCH, [question(entry) for entry in many])
    assert [each.entry for each in known] == many
    assert await frontier.figures() == (2_300, 0, 0)
    assert all(await frontier.asked(*many))
    figures = await frontier.working_set.stats(SHARD, EPOCH)
    assert (figures.host_groups, figures.seen) == (50, 2_300)


async def test_every_field_of_an_entry_comes_back(frontier: FrontierWorld) -> None:
    """What the working set loses, the next record of the log loses."""
    await frontier.open()
    full = replace(
        page("x", "b.test"),
        url="https://other.test:8443/x?y=1",
        kind="sitemap",
        reason="retry",
        hop=2,
        depth=9,
        priority=3,
        is_start=True,
        referrer="https://other.test:8443/from",
        redirect_chain=("https://b.test/1", "https://b.test/2"),
        metadata={"käse": "ä", "n": "1"},
        tries=2,
        error_count=4,
        error_class="timeout",
        status=503,
        discovered_at_ms=1_700_000_000_001,
        updated_at_ms=1_700_000_000_002,
        fetched_at_ms=3,
        closed_at_ms=4,
        next_crawl_at_ms=5,
        interval_seconds=6,
        changed_at_ms=7,
        unchanged_count=8,
        raw_hash="ab" * 32,
        text_hash="not a hash",
        etag='"x"',
        last_modified="Mon",
        needs_rendering=True,
        redirect_target="https://b.test/3",
        seed_token="seeds-submitted/0/9",
        fetch_sequence=12,
    )

    await frontier.accept(full)

    assert (await frontier.look(full)).entry == full
    lease = await frontier.release_one()
    assert lease.entry == replace(full, fetch_sequence=lease.entry.fetch_sequence)


async def test_a_seed_that_joins_takes_its_token_and_opens_nothing(frontier: FrontierWorld) -> None:
    """What it joined may be closed by now: then it stays so, as the log says."""
    await frontier.open()
    entry = page("x", seed_token="seeds/0/1")
    await frontier.accept(entry)
    lease = await frontier.release_one()
    await frontier.conclude(lease, EntryDisposition.CLOSE)

    await frontier.working_set.record_seen(SHARD, EPOCH, [closed(page("x", seed_token="seeds/0/2"))])

    known = await frontier.look(entry)
    assert (known.status, known.entry) == ("seen", None)
    assert await frontier.figures() == (0, 0, 0)


async def test_groups_of_which_a_request_could_begin_are_counted(frontier: FrontierWorld) -> None:
    """What more fetchers could do at once: not what waits behind another request, or for its time."""
    await frontier.open()
    await frontier.accept(page("x"), page("y"), page("x", "b.test"), page("z", "c.test", due_at_ms=1 << 45))
    await frontier.working_set.set_host_groups(
        SHARD, EPOCH, [HostGroupState("d.test", 1_000, blocked_until_ms=1 << 45)]
    )
    await frontier.accept(page("x", "d.test"))

    async def due() -> int:
        return (await frontier.working_set.stats(SHARD, EPOCH)).due_groups

    before = await due()
    await frontier.release(limit=1)
    between = await due()
    await frontier.release(limit=1)

    assert (before, between, await due()) == (2, 1, 0)
