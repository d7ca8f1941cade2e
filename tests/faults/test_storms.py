"""Members join and leave without a pause: the group continues to count, and counts right."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from strider.contracts.generated.topics import TALLIES, TALLY_DLQ

from .scene import Scale, Scene

PROGRESS_SECONDS = 30.0
"""Between two comings and goings something must be counted; a busy machine needs most of it."""
LEAST_ROUNDS = 3


@pytest.mark.fault("F8", part="of the example pair")
async def test_a_storm_of_rebalances_delays_and_loses_nothing(scene: Scene, scale: Scale) -> None:
    """Guests leave in order or are killed, by chance: the worst of a bad roll-out."""
    chance = Random(8)
    echo, host = scene.echo(), scene.tally()
    await asyncio.gather(echo.until_ready(), host.until_ready())
    rounds = max(LEAST_ROUNDS, scale.rounds)
    slowest_seconds = 0.0
    async with scene.load(scale) as load:
        guest = scene.tally()
        for _ in range(rounds):
            following = scene.tally()
            await guest.until(lambda guest=guest: guest.partitions > 0, what="has its part")
            if chance.random() < 0.5:
                guest.kill()
            else:
                guest.ask_to_stop()
            guest = following
            slowest_seconds = max(slowest_seconds, await scene.until_more(TALLIES))
        guest.ask_to_stop()
        await guest.until_ended()
    await scene.until_all_drained()
    answers, audit = await scene.answers(load), await scene.audit()
    rebalances = len(host.events("Partitions assigned"))
    scene.figures(
        "rebalance storm",
        guests=rounds + 1,
        rebalances=rebalances,
        sent=answers.sent,
        answered=answers.answered,
        lost=answers.lost,
        repeated=answers.repeated,
        longest_gap=f"{answers.longest_gap_seconds}s",
        slowest_progress=f"{slowest_seconds:.1f}s (bound {PROGRESS_SECONDS:g}s)",
        tallies_kept=audit.kept,
        wrong=len(audit.wrong),
    )
    assert (answers.lost, answers.repeated) == (0, 0)
    assert (audit.wrong, audit.counted) == ((), audit.expected)
    assert slowest_seconds <= PROGRESS_SECONDS
    # One that leaves and the next but one that comes may be dealt with together.
    assert 2 * rebalances >= rounds
    assert host.exit_code is None
    assert await scene.letters(TALLY_DLQ) == []
