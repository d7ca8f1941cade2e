"""Executions that are over: nothing of them stays, and nothing that is open is touched."""

from __future__ import annotations

import pytest

from strider.frontier.models import EntryDisposition, RunEntryCounts
from strider.frontier.ports import ShardNotReady
from strider.messaging.errors import ShardFenced
from strider.storage.keys import FRONTIER_NAMES, FRONTIER_SHAPES
from tests.contract.working_set.implementations.frontiers import EPOCH, SHARD, FrontierWorld, RedisWorld, page


async def test_only_what_has_nothing_open_is_forgotten(frontier: FrontierWorld) -> None:
    """Asked twice it is the same, and so is asking about what was never there."""
    await frontier.open()
    over, going_on = page("x"), page("y", execution_id="news-2")
    await frontier.accept(over, going_on)
    await frontier.conclude_entry(over, EntryDisposition.CLOSE)
    working_set = frontier.working_set

    asked = ["news-1", "news-2", "never"]
    forgotten = [await working_set.forget_executions(SHARD, EPOCH, asked) for _ in range(2)]

    assert forgotten == [1, 0]
    assert await working_set.run_counts(SHARD, EPOCH) == {"news-2": RunEntryCounts(open=1, accepted=1)}
    assert (await frontier.look(over)).status == "seen"
    assert await frontier.released() == ["y"]


@pytest.mark.parametrize("where", ["leased", "ring", "later"])
async def test_what_is_open_anywhere_is_open(frontier: FrontierWorld, where: str) -> None:
    await frontier.open()
    due_at_ms = 4_000_000_000_000 if where == "later" else 0
    await frontier.accept(page("x", due_at_ms=due_at_ms))
    if where != "later":
        lease = await frontier.release_one()
        if where == "ring":
            await frontier.conclude(lease, EntryDisposition.PIPELINE)

    assert await frontier.working_set.forget_executions(SHARD, EPOCH, ["news-1"]) == 0


async def test_what_was_forgotten_may_come_again(frontier: FrontierWorld) -> None:
    """A late link, a seed of the same day: it is counted from the beginning, and the next owner finds it."""
    await frontier.open()
    await frontier.accept(page("x"))
    await frontier.conclude_entry(page("x"), EntryDisposition.CLOSE)
    await frontier.working_set.forget_executions(SHARD, EPOCH, ["news-1"])

    await frontier.accept(page("z", group="b.test"), page("other", execution_id="news-2", group="c.test"))

    frontier.working_set = frontier.owner()
    await frontier.working_set.take_over(SHARD, EPOCH + 1)
    counts = await frontier.working_set.run_counts(SHARD, EPOCH + 1)
    assert counts == {"news-1": RunEntryCounts(1, 1), "news-2": RunEntryCounts(1, 1)}
    scan = await frontier.working_set.scan(SHARD, EPOCH + 1, cursor=0, limit=100)
    assert {entry.execution_id: entry.url for entry, _ in scan.entries} == {
        "news-1": "https://b.test/z",
        "news-2": "https://c.test/other",
    }


async def test_what_a_dropped_job_has_seen_counts_as_new(frontier: FrontierWorld) -> None:
    """Of many pages, in every bucket; and nothing of another job."""
    await frontier.open()
    pages = [page(f"p{number}") for number in range(1_500)]
    other = page("x", job_id="shop", execution_id="shop-1")
    await frontier.accept(*pages, other)
    for each in (pages[0], pages[-1], other):
        await frontier.conclude_entry(each, EntryDisposition.CLOSE)

    await frontier.working_set.forget_executions(SHARD, EPOCH, [], scopes=["news", "never"])

    closed_pages = (pages[0], pages[-1])
    assert [(await frontier.look(each)).status for each in closed_pages] == ["unknown"] * 2
    assert (await frontier.look(pages[1])).status == "open"
    assert (await frontier.look(other)).status == "seen"
    assert not any(await frontier.asked(*closed_pages))
    await frontier.accept(page("again"))
    assert await frontier.asked(page("again")) == [True]


async def test_an_earlier_owner_forgets_nothing(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("x"))
    await frontier.conclude_entry(page("x"), EntryDisposition.CLOSE)
    before = frontier.working_set
    await frontier.owner().take_over(SHARD, EPOCH + 1)

    with pytest.raises(ShardFenced):
        await before.forget_executions(SHARD, EPOCH, ["news-1"])


async def test_no_number_stays_of_what_is_forgotten_and_none_is_given_twice(frontier: FrontierWorld) -> None:
    """Some dozen texts for each execution, on each shard, for ever: that would fill the store."""
    if not isinstance(frontier, RedisWorld):
        pytest.skip("memory gives no numbers")
    await frontier.open()
    redis = frontier.redis
    sizes = []
    given: list[set[bytes]] = []
    for run in ("news-1", "news-2", "news-3"):
        entry = page(run, execution_id=run)
        await frontier.accept(entry)
        await frontier.conclude_entry(entry, EntryDisposition.CLOSE)
        given.append(set(await redis.command("HKEYS", FRONTIER_SHAPES(SHARD))))
        await frontier.working_set.forget_executions(SHARD, EPOCH, [run])
        sizes.append(
            [await redis.command("HLEN", family(SHARD)) for family in (FRONTIER_NAMES, FRONTIER_SHAPES)]
        )

    assert sizes == [[0, 0]] * 3
    assert given[0].isdisjoint(given[1])
    assert given[1].isdisjoint(given[2])


async def test_an_unknown_number_has_the_shard_rebuilt(frontier: FrontierWorld) -> None:
    """It would stand for ever otherwise; the log knows what it stood for."""
    if not isinstance(frontier, RedisWorld):
        pytest.skip("memory gives no numbers")
    await frontier.open()
    await frontier.accept(page("x"))
    await frontier.redis.command("DEL", FRONTIER_SHAPES(SHARD))
    stranger = frontier.owner()
    await stranger.take_over(SHARD, EPOCH + 1)

    with pytest.raises(ShardNotReady):
        await stranger.release(SHARD, EPOCH + 1, limit=9, lease_ms=1_000)

    assert not (await stranger.take_over(SHARD, EPOCH + 1)).is_ready
