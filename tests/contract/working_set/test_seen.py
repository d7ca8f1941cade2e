"""What was seen, by whom it was opened, and for how long that is known."""

from __future__ import annotations

import pytest

from strider.contracts.ids import key_fingerprint
from strider.frontier.models import (
    EntryDisposition,
    EntryLookupResult,
    LookupStatus,
    RefusedFingerprint,
    RunEntryCounts,
)
from tests.contract.working_set.implementations.frontiers import EPOCH, SHARD, FrontierWorld, accepted, page


@pytest.mark.req(
    "S3.15.2", part="Redis for what was seen and for leases; rules of robots.txt are in the host log"
)
async def test_refusals_are_cached_and_not_looked_up_again(frontier: FrontierWorld) -> None:
    """A link that scope refuses on every page is looked at once."""
    await frontier.open()
    refused = RefusedFingerprint("news", key_fingerprint(page("x").url_key))

    await frontier.working_set.accept(SHARD, EPOCH, [], refused=[refused])

    assert await frontier.look(page("x")) == EntryLookupResult(LookupStatus.SEEN)
    assert await frontier.asked(page("x")) == [True]
    assert await frontier.figures() == (0, 0, 0)


@pytest.mark.req("S0.1.6")
async def test_jobs_have_seen_sets_and_entries_of_their_own(frontier: FrontierWorld) -> None:
    await frontier.open()
    await frontier.accept(page("x"))
    other = page("x", job_id="shop", execution_id="shop-1")

    assert await frontier.look(other) == EntryLookupResult(LookupStatus.UNKNOWN)
    await frontier.accept(other)

    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {
        "news-1": RunEntryCounts(open=1, accepted=1),
        "shop-1": RunEntryCounts(open=1, accepted=1),
    }


async def test_a_closed_page_is_seen_and_may_be_opened_again(frontier: FrontierWorld) -> None:
    """A seed, or its own recrawl, opens it; a link does not, because the scheduler looks first."""
    await frontier.open()
    await frontier.accept(page("x"))
    lease = await frontier.release_one()
    await frontier.conclude(lease, EntryDisposition.CLOSE)

    closed = await frontier.look(page("x"))
    await frontier.accept(page("x", fetch_sequence=lease.entry.fetch_sequence))

    assert closed == EntryLookupResult(LookupStatus.SEEN)
    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {
        "news-1": RunEntryCounts(open=1, accepted=2)
    }
    assert await frontier.released() == ["x"]


async def test_a_page_that_was_closed_untried_counts_as_new(frontier: FrontierWorld) -> None:
    """Its budget was spent; the next run may have one."""
    await frontier.open()
    await frontier.accept(page("x", seed_token="seeds-submitted/0/9"))

    await frontier.conclude_entry(page("x"), EntryDisposition.CLOSE_AND_FORGET)

    assert await frontier.look(page("x")) == EntryLookupResult(LookupStatus.UNKNOWN)
    assert await frontier.asked(page("x")) == [False]


async def test_the_seed_that_opened_a_page_is_known_after_it_closed(frontier: FrontierWorld) -> None:
    """A redelivered seed must not crawl it twice."""
    await frontier.open()
    await frontier.accept(page("x", seed_token="seeds-submitted/0/9"), page("link"))
    opened = await frontier.look(page("x"))

    await frontier.conclude_entry(page("x"), EntryDisposition.CLOSE)

    assert opened.seed_token == "seeds-submitted/0/9"
    assert await frontier.look(page("x")) == EntryLookupResult(LookupStatus.SEEN, None, "seeds-submitted/0/9")
    assert (await frontier.look(page("link"))).seed_token == ""


async def test_a_seed_that_joins_an_open_page_is_the_one_that_is_known(frontier: FrontierWorld) -> None:
    """Else its redelivery after the page closed would crawl it again."""
    await frontier.open()
    await frontier.accept(page("x", seed_token="seeds-submitted/0/9"))

    await frontier.accept(page("x", seed_token="seeds-submitted/0/12"))

    assert (await frontier.look(page("x"))).seed_token == "seeds-submitted/0/12"


async def test_many_refusals_are_recorded_in_one_call(frontier: FrontierWorld) -> None:
    """Accepted and refused pages of a batch are sent together, whichever are more."""
    await frontier.open()
    refused = [page(f"refused-{number}") for number in range(2_100)]
    seen = [RefusedFingerprint("news", key_fingerprint(entry.url_key)) for entry in refused]

    await frontier.working_set.accept(SHARD, EPOCH, [accepted(page("x"))], refused=seen)

    assert all(await frontier.asked(page("x"), *refused))


@pytest.mark.req("S0.1.7")
async def test_what_was_seen_is_forgotten_after_its_time(frontier: FrontierWorld) -> None:
    """A known link counts as new after one to two ages."""
    frontier.working_set = frontier.owner(visited_ttl_ms=1_000)
    await frontier.open()
    await frontier.accept(page("x", seed_token="seeds-submitted/0/9"))
    await frontier.conclude_entry(page("x"), EntryDisposition.CLOSE)

    await frontier.pass_ms(800)
    kept = await frontier.look(page("x"))
    await frontier.pass_ms(1_400)

    assert kept == EntryLookupResult(LookupStatus.SEEN, None, "seeds-submitted/0/9")
    assert await frontier.look(page("x")) == EntryLookupResult(LookupStatus.UNKNOWN)
