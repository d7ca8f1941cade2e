"""The broker is killed with -9 under load and comes back on its data: services wait and report it."""

from __future__ import annotations

import asyncio
import time

import pytest

from strider.contracts.generated.topics import ECHO_DLQ, ECHOES, TALLIES, TALLY_DLQ
from strider.runtime.consumer.spec import ConsumerSettings

from .scene import Scale, Scene

WINDOW = ConsumerSettings().buffer_messages


@pytest.mark.fault("F4", part="under the example pair")
@pytest.mark.req("S2.1.1")
async def test_a_killed_broker_costs_time_and_nothing_else(scene: Scene, scale: Scale) -> None:
    """The services are not restarted: they say why they wait, and find back by themselves."""
    echo, tally = scene.echo(), scene.tally()
    await asyncio.gather(echo.until_ready(), tally.until_ready())
    rounds = max(1, scale.rounds // 3)
    reasons: set[str] = set()
    recovered_seconds = []
    async with scene.load(scale) as load:
        for _ in range(rounds):
            await asyncio.gather(scene.until_more(ECHOES), scene.until_more(TALLIES))
            await load.until_asked(scale.between[0], tell=scene.tell)
            scene.part.kill()
            reasons |= set(await asyncio.gather(echo.until_red("kafka"), tally.until_red("kafka")))
            await asyncio.to_thread(scene.part.start)
            up_again = time.monotonic()
            await asyncio.gather(scene.until_more(ECHOES), scene.until_more(TALLIES))
            await asyncio.gather(echo.until_ready(), tally.until_ready())
            recovered_seconds.append(time.monotonic() - up_again)
    await scene.until_all_drained()
    answers, audit = await scene.answers(load), await scene.audit(may_say_again=True)
    scene.figures(
        "kill -9 of the broker",
        kills=rounds,
        sent=answers.sent,
        answered=answers.answered,
        lost=answers.lost,
        repeated=f"{answers.repeated} (bound {WINDOW * rounds})",
        longest_gap=f"{answers.longest_gap_seconds}s",
        recovered=f"{max(recovered_seconds):.1f}s after the broker",
        tallies_kept=audit.kept,
        tallies_said_again=f"{audit.said_again} (bound {WINDOW * rounds})",
    )
    assert answers.lost == 0
    assert answers.repeated <= WINDOW * rounds
    assert audit.said_again <= WINDOW * rounds
    assert (audit.wrong, audit.counted) == ((), audit.expected)
    assert [echo.exit_code, tally.exit_code] == [None, None]
    assert all("kafka" in reason for reason in reasons)
    assert [*await scene.letters(ECHO_DLQ), *await scene.letters(TALLY_DLQ)] == []
