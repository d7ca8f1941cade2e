"""Services are killed with -9 at random moments under load: nothing is lost, repeats are explained."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from strider.contracts.generated.topics import ECHO_DLQ, ECHOES, TALLIES, TALLY_DLQ
from strider.runtime.consumer.spec import ConsumerSettings
from tests.processes.services import COMMIT_SECONDS

from .accounts import Blow
from .scene import Scale, Scene

WINDOW = ConsumerSettings().buffer_messages
OLDEST_SECONDS = COMMIT_SECONDS + ConsumerSettings().poll_seconds + 2.0
"""Commit interval, one poll, and what a busy machine may add."""


@pytest.mark.fault("F1", part="30 kills of the example pair")
async def test_kills_of_both_lose_nothing_and_repeat_what_was_not_committed(
    scene: Scene, scale: Scale
) -> None:
    """Every repeat has to stand between what was committed at a kill and the end of the log then."""
    chance = Random(19)
    blows: list[Blow] = []
    echo, tally = scene.echo(), scene.tally()
    await asyncio.gather(echo.until_ready(), tally.until_ready())
    async with scene.load(scale) as load:
        for _ in range(scale.rounds):
            await asyncio.gather(scene.until_more(ECHOES), scene.until_more(TALLIES))
            await load.until_asked(chance.randint(*scale.between), tell=scene.tell)
            echo.kill()
            blows.append(await scene.blow())
            echo = scene.echo()
            await load.until_asked(chance.randint(*scale.between) // 4, tell=scene.tell)
            tally.kill()
            tally = scene.tally()
    await scene.until_all_drained()
    answers, audit = await scene.answers(load, *blows), await scene.audit()
    scene.figures(
        "kill -9 of echo and tally",
        kills=2 * scale.rounds,
        sent=answers.sent,
        answered=answers.answered,
        lost=answers.lost,
        repeated=f"{answers.repeated} (bound {WINDOW * scale.rounds})",
        oldest_repeat=f"{answers.oldest_repeat_seconds}s (bound {OLDEST_SECONDS:g}s)",
        longest_gap=f"{answers.longest_gap_seconds}s",
        tallies_kept=audit.kept,
    )
    assert (answers.lost, answers.unexplained) == (0, 0)
    assert answers.repeated <= WINDOW * scale.rounds
    assert answers.oldest_repeat_seconds <= OLDEST_SECONDS
    assert audit.wrong == ()
    assert audit.counted == audit.expected
    assert [*await scene.letters(ECHO_DLQ), *await scene.letters(TALLY_DLQ)] == []
