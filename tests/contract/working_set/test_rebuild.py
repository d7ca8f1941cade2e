"""Putting a shard back from what the log says."""

from __future__ import annotations

from strider.contracts.ids import key_fingerprint
from strider.frontier.models import (
    EntryDisposition,
    EntryLookupResult,
    HostGroupState,
    LookupStatus,
    RunEntryCounts,
    SeenBatch,
)
from strider.frontier.rebuild_records import RecordedRunCount
from strider.frontier.redis.inspection import ShardInspector
from tests.contract.working_set.implementations.frontiers import (
    EPOCH,
    LONG_MS,
    SHARD,
    FrontierWorld,
    RedisWorld,
    closed,
    page,
    recorded,
    words,
)


async def _rebuilt(frontier: FrontierWorld, *groups: HostGroupState) -> None:
    ws = frontier.working_set
    await ws.take_over(SHARD, EPOCH)
    await ws.begin_rebuild(SHARD, EPOCH)
    now_ms = (await ws.take_over(SHARD, EPOCH)).now_ms
    await ws.load(SHARD, EPOCH, queued=[recorded(page("queued"))])
    ring = page("ring", fetch_sequence=5, state="in_progress")
    done = page("done", fetch_sequence=4, seed_token="seeds-submitted/0/1", updated_at_ms=now_ms)
    await ws.load(
        SHARD,
        EPOCH,
        in_pipeline=[recorded(ring)],
        seen_entries=[closed(done), closed(page("ancient", updated_at_ms=1))],
        seen_batches=[
            SeenBatch("news", now_ms, [key_fingerprint(page("refused").url_key)]),
            SeenBatch("news", 1, [key_fingerprint(page("old").url_key)]),
        ],
    )
    await ws.finish_rebuild(SHARD, EPOCH, groups=groups, sequence=5)


async def test_a_rebuilt_shard_has_the_state_of_the_log(frontier: FrontierWorld) -> None:
    await _rebuilt(frontier)

    assert await frontier.look(page("queued")) == EntryLookupResult(LookupStatus.OPEN, page("queued"))
    ring = page("ring", fetch_sequence=5, state="in_progress")
    assert await frontier.look(page("ring")) == EntryLookupResult(LookupStatus.OPEN, ring)
    assert await frontier.look(page("done")) == EntryLookupResult(
        LookupStatus.SEEN, None, "seeds-submitted/0/1"
    )
    assert await frontier.asked(page("queued"), page("ring"), page("done"), page("refused")) == [True] * 4
    assert await frontier.figures() == (1, 0, 1)


async def test_what_was_closed_long_ago_counts_as_new(frontier: FrontierWorld) -> None:
    """The log keeps it; the seen-set would have forgotten it."""
    await _rebuilt(frontier)

    assert await frontier.look(page("ancient")) == EntryLookupResult(LookupStatus.UNKNOWN)


async def test_many_that_were_seen_are_put_back_at_once(frontier: FrontierWorld) -> None:
    """Whether or not their number was known beforehand; some more come with the crawl."""
    ws = frontier.working_set
    await ws.take_over(SHARD, EPOCH)
    await ws.begin_rebuild(SHARD, EPOCH)
    now_ms = (await ws.take_over(SHARD, EPOCH)).now_ms
    numbers = [key_fingerprint(page(f"p{number}").url_key) for number in range(9_000)]

    await ws.reserve_seen(SHARD, EPOCH, {"told": 6_000})
    for scope in ("told", "untold"):
        await ws.load(
            SHARD, EPOCH, seen_batches=[SeenBatch(scope, now_ms, numbers[:100]), SeenBatch(scope, 1, [7])]
        )
        await ws.load(SHARD, EPOCH, seen_batches=[SeenBatch(scope, now_ms, numbers[100:])])
    await ws.finish_rebuild(SHARD, EPOCH, groups=[], sequence=0)

    assert (await ws.stats(SHARD, EPOCH)).seen == 18_000
    for scope in ("told", "untold"):
        question = {(SHARD, scope): [*numbers[::9], 7]}
        assert (await frontier.question.find_seen(question))[SHARD, scope] == [*[True] * 1_000, False]


async def test_what_is_loaded_is_counted_as_open_alone(frontier: FrontierWorld) -> None:
    """How many were accepted is said for all of them, once."""
    await _rebuilt(frontier)

    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {
        "news-1": RunEntryCounts(open=2, accepted=0)
    }


async def test_runs_come_back_with_what_they_had_accepted(frontier: FrontierWorld) -> None:
    """Also those of which nothing is open, and what is accepted after that is counted on."""
    ws = frontier.working_set
    await ws.take_over(SHARD, EPOCH)
    await ws.begin_rebuild(SHARD, EPOCH)
    await ws.load(SHARD, EPOCH, queued=[recorded(page("queued"))])
    over = page("over", execution_id="news-0", state="completed", reason="settled")
    of_another_spec = page("more", execution_id="news-0", crawl_spec_id="other")
    for _ in range(2):  # an answer may be lost: said again it counts no more
        told = [
            RecordedRunCount(over, 40),
            RecordedRunCount(page("queued"), 3),
            RecordedRunCount(of_another_spec, 2),
        ]
        await ws.set_accepted_counts(SHARD, EPOCH, told)
    await ws.set_accepted_counts(SHARD, EPOCH, [])
    await ws.finish_rebuild(SHARD, EPOCH, groups=[], sequence=0)

    await frontier.accept(page("new"))

    counts = await ws.run_counts(SHARD, EPOCH)
    assert counts == {
        "news-0": RunEntryCounts(open=0, accepted=42),
        "news-1": RunEntryCounts(open=2, accepted=4),
    }
    assert await ws.forget_executions(SHARD, EPOCH, ["news-0", "news-1"]) == 1
    assert await ws.run_counts(SHARD, EPOCH) == {"news-1": RunEntryCounts(open=2, accepted=4)}


async def test_more_runs_than_one_call_takes(frontier: FrontierWorld) -> None:
    """Of which each is shown with its job."""
    ws = frontier.working_set
    await ws.take_over(SHARD, EPOCH)
    await ws.begin_rebuild(SHARD, EPOCH)
    runs = [f"run-{number}" for number in range(1_200)]
    await ws.set_accepted_counts(
        SHARD, EPOCH, [RecordedRunCount(page("x", execution_id=run), 7) for run in runs]
    )
    await ws.finish_rebuild(SHARD, EPOCH, groups=[], sequence=0)

    assert await ws.run_counts(SHARD, EPOCH) == dict.fromkeys(runs, RunEntryCounts(open=0, accepted=7))
    if isinstance(frontier, RedisWorld):
        glance = await ShardInspector(frontier.redis).runs([SHARD])
        shown = {(run.job_id, run.open, run.accepted) for run in glance.runs.values()}
        assert (len(glance.runs), shown) == (1_200, {("news", 0, 7)})


async def test_clocks_are_restored_as_the_owner_recorded_them(frontier: FrontierWorld) -> None:
    """What was in flight when the store was lost may still be."""
    await frontier.open()
    now_ms = (await frontier.release()).now_ms

    await _rebuilt(frontier, HostGroupState("a.test", 0, not_before_ms=now_ms + LONG_MS))
    release = await frontier.release()

    assert (release.leases, release.next_due_ms) == ([], now_ms + LONG_MS)


async def test_loading_again_changes_nothing(frontier: FrontierWorld) -> None:
    """Records come at least once."""
    ws = frontier.working_set
    await ws.take_over(SHARD, EPOCH)
    await ws.begin_rebuild(SHARD, EPOCH)
    for _ in range(2):
        await ws.load(SHARD, EPOCH, queued=[recorded(page("x")), recorded(page("y", "b.test"))])
    for _ in range(2):
        await ws.finish_rebuild(SHARD, EPOCH, groups=[], sequence=0)

    release = await frontier.release()

    assert sorted(words(release.leases)) == ["x", "y"]
    assert await frontier.figures() == (0, 2, 0)


async def test_an_outcome_from_before_the_loss_counts(frontier: FrontierWorld) -> None:
    """Its page was fetched; its entry is queued again only because its lease is forgotten."""
    await frontier.open()
    await frontier.accept(page("queued"))
    lease = await frontier.release_one()
    await frontier.mark(lease)
    await frontier.lose()
    await _rebuilt(frontier)

    assert await frontier.free(lease) == "current"
    assert await frontier.released() == []
    await frontier.conclude(lease, EntryDisposition.PIPELINE)
    assert await frontier.figures() == (0, 0, 2)


async def test_an_outcome_that_the_log_knows_is_stale_after_a_rebuild(frontier: FrontierWorld) -> None:
    """Its offset was not committed when the owner died."""
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one()
    ws = frontier.working_set
    await ws.begin_rebuild(SHARD, EPOCH)
    await ws.load(SHARD, EPOCH, in_pipeline=[recorded(lease.entry)])
    await ws.finish_rebuild(SHARD, EPOCH, groups=[], sequence=lease.entry.fetch_sequence)

    assert await frontier.free(lease) == "stale"
    assert await frontier.figures() == (0, 0, 1)


async def test_a_shard_that_is_being_rebuilt_has_no_counts(frontier: FrontierWorld) -> None:
    """So that no link is dropped for what a half-built set says; the scheduler decides again."""
    await frontier.open()
    await frontier.accept(page("x"))

    before = await frontier.asked(page("x"))
    await frontier.working_set.begin_rebuild(SHARD, EPOCH)
    await frontier.working_set.load(SHARD, EPOCH, queued=[recorded(page("x"))])

    assert (before, await frontier.asked(page("x"))) == ([True], [False])


async def test_entries_that_wait_are_loaded_waiting(frontier: FrontierWorld) -> None:
    await frontier.open()
    now_ms = (await frontier.release()).now_ms
    ws = frontier.working_set
    await ws.begin_rebuild(SHARD, EPOCH)
    await ws.load(SHARD, EPOCH, queued=[recorded(page("x", due_at_ms=now_ms + LONG_MS))])
    await ws.finish_rebuild(SHARD, EPOCH, groups=[], sequence=0)

    release = await frontier.release()

    assert (release.leases, release.next_due_ms) == ([], now_ms + LONG_MS)
