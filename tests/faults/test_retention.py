"""Retention takes messages before they were read: that is said aloud, exactly, and the rest is read."""

from __future__ import annotations

import pytest

from strider.contracts.generated.topics import ECHO_REQUESTS

from .load import Asker
from .scene import Scene

REQUESTS = 60
GONE = 25
MOST_TIMES = 3
"""Time for a loss event on a machine on which a consumer that was frozen comes back to a rebalance."""


@pytest.mark.fault("F25", part="a log whose beginning was cut")
@pytest.mark.parametrize(
    "is_running",
    [
        pytest.param(False, id="while-none-runs"),
        pytest.param(True, id="under-a-running-consumer"),
    ],
)
async def test_a_loss_is_named_exactly_and_reading_continues_behind_it(
    scene: Scene, *, is_running: bool
) -> None:
    echo = scene.echo()
    await echo.until_ready()
    if is_running:
        echo.freeze()
    else:
        echo.ask_to_stop()
        assert await echo.until_ended() == 0
    async with scene.asker() as asker:
        forgotten = asker.hosts[0]
        others = await _answer_what_was_asked_for(asker, besides=forgotten)
        asked = [await asker.ask(host=forgotten, text=f"text {number}") for number in range(REQUESTS)]
        await asker.settle()
        partition, first = asker.sent[asked[0]].partition, asker.sent[asked[0]].offset
        await scene.broker.delete_records(ECHO_REQUESTS, {partition: first + GONE})
        # Others are served meanwhile: one lost range holds back its own partition alone.
        others += [await asker.ask(text=f"elsewhere {number}") for number in range(REQUESTS)]
        await asker.settle()
    if is_running:
        echo.thaw()
    else:
        echo = scene.echo()
    lost = await echo.until_logged("Messages lost")
    await scene.until_drained("echo", ECHO_REQUESTS)
    answers, letters = await scene.answers(asker), await scene.letters()
    answered = {echoed.request_id for _, echoed in await scene.echoes()}
    unread = await echo.metric("strider_lost_messages_total", topic=ECHO_REQUESTS.name)
    scene.figures(
        f"retention past the committed offset {'(running)' if is_running else '(stopped)'}",
        sent=answers.sent,
        answered=answers.answered,
        taken=GONE,
        named=f"{lost['lost_from']}..{lost['lost_to']}",
        lost_beyond_that=answers.lost - GONE,
        repeated=answers.repeated,
    )
    assert (lost["topic"], lost["partition"], lost["level"]) == (ECHO_REQUESTS.name, partition, "error")
    assert (lost["lost_from"], lost["lost_to"], lost["messages"]) == (first, first + GONE - 1, GONE)
    # A rebalance between the letter and the commit behind it has the same be said again, word for word.
    told = {(each.reason, each.category, each.topic, each.partition, each.offset) for each in letters}
    assert told == {("retention_loss", "retention", ECHO_REQUESTS.name, partition, first)}
    assert {(each.lost_from, each.lost_to) for each in letters} == {(first, first + GONE - 1)}
    assert len(letters) <= MOST_TIMES
    assert answered == {*asked[GONE:], *others}
    assert unread == GONE * len(letters)
    assert await echo.metric("strider_loss_events_total", topic=ECHO_REQUESTS.name) == len(letters)
    await echo.until_ready()


async def _answer_what_was_asked_for(asker: Asker, *, besides: str) -> list[str]:
    """Let the broker answer the fetch that a frozen consumer still has out, with other partitions' messages.

    Else it would answer with the very messages that are to be taken away, and they would be read.
    """
    hosts = [host for host in asker.hosts if asker.shard(host) != asker.shard(besides)]
    names = []
    for host in hosts[:3]:
        names.append(await asker.ask(host=host, text="before"))
        await asker.settle()
    return names
