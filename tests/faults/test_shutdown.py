"""SIGTERM under load: what is in flight is finished and committed, within the stop timeout."""

from __future__ import annotations

import asyncio
import time

import pytest

from strider.contracts.generated.topics import ECHO_REQUESTS, ECHOES, TALLIES
from tests.processes.services import ADJUSTABLE_ECHO, GRACE_SECONDS, Service

from .load import Asker, Load
from .scene import Scale, Scene

AHEAD = 0
"""What may be answered and not committed when a service has stopped in order."""


@pytest.mark.fault("F2", part="the example pair")
async def test_an_orderly_stop_under_load_skips_nothing(scene: Scene, scale: Scale) -> None:
    echo, tally = scene.echo(), scene.tally()
    await asyncio.gather(echo.until_ready(), tally.until_ready())
    rounds = max(1, scale.rounds // 2)
    longest_seconds = 0.0
    async with scene.load(scale) as load:
        for _ in range(rounds):
            await asyncio.gather(scene.until_more(ECHOES), scene.until_more(TALLIES))
            await load.until_asked(scale.between[0], tell=scene.tell)
            began = time.monotonic()
            assert [await _stop(service) for service in (echo, tally)] == [0, 0]
            longest_seconds = max(longest_seconds, time.monotonic() - began)
            skipped, ahead = await _skipped_and_ahead(scene, load)
            assert (skipped, len(ahead)) == (set(), AHEAD)
            assert await _counted_up_to(scene) == await scene.broker.committed("tally", ECHOES)
            echo, tally = scene.echo(), scene.tally()
    await scene.until_all_drained()
    answers, audit = await scene.answers(load), await scene.audit()
    scene.figures(
        "SIGTERM of echo and tally",
        stops=2 * rounds,
        sent=answers.sent,
        answered=answers.answered,
        lost=answers.lost,
        repeated=f"{answers.repeated} (bound {AHEAD})",
        longest_gap=f"{answers.longest_gap_seconds}s",
        longest_stop=f"{longest_seconds:.1f}s for two (bound {2 * GRACE_SECONDS:g}s)",
    )
    assert answers.lost == 0
    assert answers.repeated == AHEAD
    assert (audit.wrong, audit.counted) == ((), audit.expected)
    assert longest_seconds <= 2 * GRACE_SECONDS


async def test_an_orderly_stop_leaves_no_gap_before_what_it_has_handled(scene: Scene) -> None:
    """Three of one partition: a slow one, its successor by key, and one of another key, done meanwhile."""
    echo = scene.yard.start(ADJUSTABLE_ECHO, {"ADJUSTABLE_SLOW_ON": "slow"})
    await echo.until_ready()
    async with scene.asker() as asker:
        host, neighbour = _two_of_one_partition(asker)
        await asker.ask(host=host, text="slow")
        await asker.ask(host=host, text="waits for the slow one")
        await asker.ask(host=neighbour, text="done meanwhile")
        await asker.settle()
    await scene.until_more(ECHOES)
    assert await _stop(echo) == 0
    scene.echo()
    await scene.until_drained("echo", ECHO_REQUESTS)
    answers = await scene.answers(asker)
    assert (answers.lost, answers.repeated) == (0, 0)


def _two_of_one_partition(asker: Asker) -> tuple[str, str]:
    pairs = ((one, other) for one in asker.hosts for other in asker.hosts if one < other)
    return next(pair for pair in pairs if asker.shard(pair[0]) == asker.shard(pair[1]))


async def _stop(service: Service) -> int:
    service.ask_to_stop()
    return await service.until_ended(seconds=GRACE_SECONDS + 10)


async def _skipped_and_ahead(scene: Scene, load: Load) -> tuple[set[str], set[str]]:
    """Requests that were committed without an answer, and answered without being committed."""
    committed = await scene.broker.committed("echo", ECHO_REQUESTS)
    answered = {echoed.request_id for _, echoed in await scene.echoes()}
    done = {name for name, place in load.sent.items() if place.offset < committed[place.partition]}
    return done - answered, answered - done


async def _counted_up_to(scene: Scene) -> dict[int, int]:
    """Where the ledger ends, by partition: the offset after the last echo in it."""
    ends = dict(scene.begins[ECHOES.name])
    for record, tally in await scene.tallies():
        ends[record.partition] = max(ends[record.partition], tally.counted_offset + 1)
    return ends
