"""Lost pages: proven by offsets, retried, closed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from zlib import crc32

import pytest

from strider.contracts.generated.enums import EntryState
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import TOPICS
from strider.messaging.inprocess import simulate
from strider.scheduler.core.runs.lost_pages import (
    MARGIN_MS,
    PIPELINE,
    PipelineOffsets,
    PipelineWatermark,
    retry_lost_page,
)
from tests.unit.scheduler.builders import an_entry
from tests.unit.scheduler.simulation.checks import check_politeness, check_transitions
from tests.unit.scheduler.simulation.seeds import seeds
from tests.unit.scheduler.simulation.test_liveness import hosts_of
from tests.unit.scheduler.simulation.web import a_web
from tests.unit.scheduler.simulation.world import SimulatedWorld

FETCHED, PARSED, VALIDATED, REJECTED, SETTLED = (topic for hop in PIPELINE for topic in hop.topics)
BEGUN = PipelineWatermark(1, since_ms=100_000)
ENDS = {
    (FETCHED, 0): 7,
    (FETCHED, 1): 3,
    (PARSED, 1): 4,
    (VALIDATED, 1): 2,
    (REJECTED, 1): 1,
    (SETTLED, 1): 9,
}
ALL_READ = {(hop.group, place): ENDS[place] for hop in PIPELINE for place in ENDS if place[0] in hop.topics}


def sounding(**behind: int) -> PipelineOffsets:
    """Everything is read, but for so many messages of a topic's last partition."""
    missing = {topic.replace("_", "-"): count for topic, count in behind.items()}
    committed = {
        (group, place): offset - (missing.get(place[0], 0) if place[1] == 1 else 0)
        for (group, place), offset in ALL_READ.items()
    }
    return PipelineOffsets(committed, ENDS)


def test_the_hops_are_those_that_the_topics_declare() -> None:
    """A group that is renamed, or a reader that comes between, must not make pages seem lost."""
    declared = {
        (topic, reader.group, reader.sharded)
        for hop in PIPELINE
        for topic in hop.topics
        for reader in TOPICS[topic].read_by
        if reader.gates != "none" and reader.service != "indexer"
    }
    assert {(topic, hop.group, hop.is_sharded) for hop in PIPELINE for topic in hop.topics} == declared


def test_where_all_is_read_one_look_proves_that_nothing_is_on_its_way() -> None:
    assert BEGUN.after(sounding()).has_passed


@pytest.mark.parametrize(
    ("behind", "hop"),
    [
        pytest.param(FETCHED, 0, id="the parser"),
        pytest.param(PARSED, 1, id="the validator"),
        pytest.param(VALIDATED, 2, id="link-ingestion"),
        pytest.param(REJECTED, 2, id="link-ingestion, of rejected pages"),
        pytest.param(SETTLED, 3, id="the scheduler itself"),
    ],
)
def test_a_service_that_is_behind_holds_up_the_proof(behind: str, hop: int) -> None:
    """It continues from there, by the ends that were noted: what came later is none of its business."""
    first = BEGUN.after(sounding(**{behind.replace("-", "_"): 1}))
    assert (first.stage, first.has_passed) == (hop, False)
    grown = PipelineOffsets(ALL_READ, {place: end + (place[0] == behind) for place, end in ENDS.items()})
    assert first.after(grown).has_passed


def test_what_another_shard_sends_holds_up_nothing_but_in_the_unsharded_topic() -> None:
    ends = ENDS | {(PARSED, 0): 99}
    assert BEGUN.after(PipelineOffsets(ALL_READ, ends)).has_passed
    assert not BEGUN.after(PipelineOffsets(ALL_READ, ends | {(FETCHED, 0): 8})).has_passed


@pytest.mark.fault("B7")
@pytest.mark.parametrize("topic", [FETCHED, PARSED, VALIDATED, REJECTED, SETTLED])
def test_a_log_that_became_shorter_holds_up_no_proof(topic: str) -> None:
    """A broker lost its tail, or the topic was made again: the former end is never reached."""
    behind = BEGUN.after(sounding(**{topic.replace("-", "_"): 1}))
    shorter = {place: 0 if place[0] == topic else end for place, end in ENDS.items()}
    committed = {(group, place): shorter[place] for group, place in ALL_READ}

    assert not behind.has_passed
    assert behind.after(PipelineOffsets(committed, shorter)).has_passed


def test_a_group_that_has_committed_nothing_is_not_past_anything() -> None:
    assert not BEGUN.after(PipelineOffsets({}, ENDS)).has_passed


@pytest.mark.parametrize(
    ("state", "fetched_at_ms", "is_lost"),
    [
        pytest.param(EntryState.IN_PROGRESS, BEGUN.since_ms - MARGIN_MS, True, id="fetched before"),
        pytest.param(EntryState.IN_PROGRESS, BEGUN.since_ms - MARGIN_MS + 1, False, id="fetched since"),
        pytest.param(EntryState.PENDING, 1, False, id="waits"),
    ],
)
def test_only_what_was_on_its_way_before_is_lost(state: str, fetched_at_ms: int, is_lost: bool) -> None:
    on_ring = an_entry(state=state, fetched_at_ms=fetched_at_ms)
    assert BEGUN.after(sounding()).is_lost(on_ring) is is_lost
    assert not BEGUN.is_lost(on_ring)


def test_a_page_is_requested_once_more_and_then_closed() -> None:
    once = retry_lost_page(an_entry(state=EntryState.IN_PROGRESS, fetch_sequence=5), now_ms=7).entry
    assert once is not None
    assert _told(once) == ("pending", "lost_once", 1, 5)
    twice = retry_lost_page(replace(once, state=EntryState.IN_PROGRESS, fetch_sequence=6), now_ms=8)
    assert twice.entry is not None
    assert _told(twice.entry) == ("failed", "lost_in_ring", 2, 6)
    assert [line.reason for line in twice.decisions] == ["lost_in_ring"]


def _told(record: EntryRecorded) -> tuple[str, str, int, int]:
    return record.state, record.reason, record.losses, record.fetch_sequence


@seeds(3, of=5)
def test_a_crawl_whose_pipeline_loses_pages_completes(seed: int) -> None:
    """Each page that vanished is asked for again, never more than twice, and by the rules of its host."""

    async def scenario() -> None:
        world = SimulatedWorld(a_web(seed), seed=seed)
        swallowed = []

        def swallows(url: str, time: int) -> bool:
            is_hit = crc32(url.encode()) % 3 == 0 and time == 0
            swallowed.extend([url] * is_hit)
            return is_hit

        world.pipeline.loses_page = swallows
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler)
        await scheduler.stop()

        fetched = [visit.url for visit in world.web.log if visit.outcome == "fetched" and _is_page(visit.url)]
        assert swallowed
        assert {url: fetched.count(url) for url in set(fetched)} == {
            url: 2 if url in swallowed else 1 for url in set(fetched)
        }
        assert "lost_in_ring" not in world.reasons().values()
        check_politeness(world.web)
        check_transitions(world)

    simulate(scenario())


def test_a_page_that_is_swallowed_each_time_is_closed_with_the_reason() -> None:
    async def scenario() -> None:
        world = SimulatedWorld(hosts_of(2))
        bad, _ = world.web.pages
        world.pipeline.loses_page = lambda url, _time: url == bad
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler, seconds=1_000)
        await scheduler.stop()

        assert world.web.tries[bad] == 2
        assert world.reasons() == {bad: "lost_in_ring"}

    simulate(scenario())


@pytest.mark.parametrize("is_killed", [False, True], ids=["one owner", "a second owner"])
def test_a_slow_pipeline_loses_nothing(is_killed: bool) -> None:
    """However long a page takes: as long as it may come back, it is not asked for again."""

    async def scenario() -> None:
        world = SimulatedWorld(hosts_of(6))
        world.pipeline.settle_seconds = 2_000
        await world.begin()
        scheduler = world.start()
        await asyncio.sleep(300)
        if is_killed:
            await scheduler.kill()
            scheduler = world.start()
        await world.until_complete(scheduler)
        await scheduler.stop()

        assert {url: world.web.tries[url] for url in world.web.pages} == dict.fromkeys(world.web.pages, 1)

    simulate(scenario())


def _is_page(url: str) -> bool:
    return not url.endswith("/robots.txt")
