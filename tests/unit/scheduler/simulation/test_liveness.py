"""Liveness: cases that could make a crawl wait forever."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.events import EntryRecorded, FetchCompleted, FetchRequested
from strider.contracts.generated.topics import SCHEDULER_DLQ
from strider.messaging.effects import Effects
from strider.messaging.inprocess import simulate
from strider.messaging.ports import Record
from strider.scheduler.handlers import fetch_outcomes
from strider.scheduler.options import SchedulerOptions

from .pipeline import SHARDS
from .web import Host, Page, Web
from .world import SPEC, SimulatedWorld


def hosts_of(count: int) -> Web:
    """Many hosts with one page each."""
    hosts = {f"h{n}.test": Host(f"h{n}.test") for n in range(count)}
    pages = {f"http://{name}/": Page(f"http://{name}/") for name in hosts}
    return Web(hosts, pages, tuple(pages))


@pytest.mark.parametrize("seed", range(3))
def test_a_fetcher_that_died_with_all_that_was_under_way_holds_up_nothing(seed: int) -> None:
    """Leases that ran out count as under way until they are looked at: so they are, however full it is."""

    async def scenario() -> None:
        options = SchedulerOptions(shards=SHARDS, user_agent="Strider", in_flight=2)
        world = SimulatedWorld(hosts_of(12), seed=seed, lost_outcomes=0.5, options=options)
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler, seconds=20_000)
        await scheduler.stop()

        assert world.pipeline.lost > 0
        untold = set(world.web.pages) - world.web.tries.keys() - world.reasons().keys()
        assert untold == set()

    simulate(scenario())


def test_a_budget_is_not_held_by_requests_that_went_with_the_working_set() -> None:
    """Their leases are marked no more, so no outcome is published: their places must come back."""
    spec = replace(SPEC, max_pages=1)

    async def scenario() -> None:
        world = SimulatedWorld(hosts_of(3), spec=spec)
        fetch, lost = world.pipeline.fetch, []

        async def losing(request: FetchRequested, record: Record) -> Effects:
            if request.kind == "page" and not lost:
                lost.append(request.url)
                world.frontier._shards.clear()
            return await fetch(request, record)

        world.pipeline.fetch = losing  # type: ignore[method-assign]
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler, seconds=20_000)
        await scheduler.stop()

        assert len(lost) == 1
        assert [visit.outcome for visit in world.web.log if visit.url in world.web.pages] == ["fetched"]

    simulate(scenario())


@pytest.mark.parametrize("seed", range(3))
def test_a_budget_is_not_held_by_leases_that_ended_while_it_was_recounted(seed: int) -> None:
    """A new owner releases entries while it still counts what the earlier one had in flight."""
    spec = replace(SPEC, max_pages=6)

    async def scenario() -> None:
        world = SimulatedWorld(hosts_of(12), seed=seed, spec=spec)
        conclude = world.frontier.conclude

        async def late_conclude(*args: Any) -> Any:
            await asyncio.sleep(0.5)
            return await conclude(*args)

        world.frontier.conclude = late_conclude  # type: ignore[method-assign]
        await world.begin()
        for _ in range(3):
            scheduler = world.start()
            await asyncio.sleep(4)
            await scheduler.kill()
        scheduler = world.start()
        await world.until_complete(scheduler, seconds=2_000)
        await scheduler.stop()

        pages = [
            visit for visit in world.web.log if visit.outcome == "fetched" and visit.url in world.web.pages
        ]
        assert len(pages) == 6
        assert list(world.reasons().values()) == ["budget"] * 6

    simulate(scenario())


def test_an_entry_whose_record_could_outgrow_its_topic_is_refused_at_the_door() -> None:
    """Taken in, it could not be written down once it was fetched, and would stay open for ever."""
    url = "http://h0.test/"

    async def scenario() -> None:
        world = SimulatedWorld(hosts_of(2))
        await world.begin()
        scheduler = world.start()
        attached = {"note": "x" * 65_000}
        await world.pipeline.discover([url], via="seed", offset=99, attachments=(attached,))
        await world.until_complete(scheduler, seconds=20_000)
        await asyncio.sleep(60)
        await scheduler.stop()

        assert world.reasons() == {url: "bad_seed"}
        assert world.published(SCHEDULER_DLQ) == []

    simulate(scenario())


def test_an_outcome_that_cannot_be_concluded_does_not_keep_its_entry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its message is given up when its lease has ended already: a minute later the page is tried again."""
    failed: list[str] = []
    decide = fetch_outcomes.apply_fetch_outcome

    def crashing(entry: EntryRecorded, outcome: FetchCompleted, *rest: Any, **more: Any) -> Any:
        if outcome.kind == "page" and (not failed or failed[0] == outcome.lease_id):
            failed.append(outcome.lease_id)
            raise ValueError("a bug of ours")
        return decide(entry, outcome, *rest, **more)

    monkeypatch.setattr(fetch_outcomes, "apply_fetch_outcome", crashing)

    async def scenario() -> None:
        web = hosts_of(1)
        [url] = web.pages
        web.pages[url] = Page(url, "missing")  # no page is in the pipeline that could settle it instead
        world = SimulatedWorld(web)
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler, seconds=2_000)
        await scheduler.stop()

        assert failed
        assert len(world.published(SCHEDULER_DLQ)) == 1
        assert world.web.tries[url] == 2

    simulate(scenario())
