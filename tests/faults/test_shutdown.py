"""SIGTERM under load: what was read is finished and committed, so nothing at all comes again."""

from __future__ import annotations

import asyncio
import time

import pytest

from strider.contracts.generated.topics import ECHO_REQUESTS, ECHOES, TALLIES

from .load import Load
from .scene import Scale, Scene
from .services import GRACE_SECONDS, Service


@pytest.mark.req("S3.15.1")
async def test_an_orderly_stop_under_load_repeats_nothing(scene: Scene, scale: Scale) -> None:
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
            assert await _answered_and_uncommitted(scene, load) == set()
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
        repeated=f"{answers.repeated} (bound 0)",
        longest_gap=f"{answers.longest_gap_seconds}s",
        longest_stop=f"{longest_seconds:.1f}s for two (bound {2 * GRACE_SECONDS:g}s)",
    )
    assert (answers.lost, answers.repeated) == (0, 0)
    assert (audit.wrong, audit.counted) == ((), audit.expected)
    assert longest_seconds <= 2 * GRACE_SECONDS


async def _stop(service: Service) -> int:
    service.ask_to_stop()
    return await service.until_ended(seconds=GRACE_SECONDS + 10)


async def _answered_and_uncommitted(scene: Scene, load: Load) -> set[str]:
    """Requests that were answered and will be read again, or were skipped."""
    committed = await scene.broker.committed("echo", ECHO_REQUESTS)
    answered = {echoed.request_id for _, echoed in await scene.echoes()}
    done = {name for name, place in load.sent.items() if place.offset < committed[place.partition]}
    return answered.symmetric_difference(done)


async def _counted_up_to(scene: Scene) -> dict[int, int]:
    """Where the ledger ends, by partition: the offset after the last echo in it."""
    ends = dict(scene.begins[ECHOES.name])
    for record, tally in await scene.tallies():
        ends[record.partition] = max(ends[record.partition], tally.counted_offset + 1)
    return ends
