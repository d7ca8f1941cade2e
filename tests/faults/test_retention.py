"""Logs that lost their beginning or their end: what is gone is named exactly, and the rest is read once."""

from __future__ import annotations

import asyncio

import pytest

from strider.contracts.generated.topics import ECHO_REQUESTS
from strider.messaging.kafka import KafkaConnection
from strider.messaging.topics import apply_topics
from tests.processes.log_cut import cut_log
from tests.processes.waiting import until

from .load import Asker
from .scene import Scene

REQUESTS = 60
GONE = 25
NEW = 10
"""Requests after a log was cut: fewer than are gone, so that it is still shorter than it was."""
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


@pytest.mark.fault("B1")
@pytest.mark.fault("F25", part="a log that lost its tail")
@pytest.mark.parametrize(
    "is_running",
    [
        pytest.param(True, id="under-a-running-consumer"),
        pytest.param(False, id="while-none-runs"),
    ],
)
async def test_a_log_without_its_tail_is_not_read_again_and_loses_nothing_new(
    scene: Scene, *, is_running: bool
) -> None:
    """New requests stand in the log before the consumer notices that it is shorter."""
    echo = scene.echo()
    await echo.until_ready()
    async with scene.asker() as asker:
        host = asker.hosts[0]
        partition, asked = asker.shard(host), []
        for number in range(REQUESTS):
            asked.append(await asker.ask(host=host, text=f"text {number}"))
            await asker.settle()  # a batch of its own for each
    await scene.until_drained("echo", ECHO_REQUESTS)
    cut_at = asker.sent[asked[-GONE]].offset
    former_end = asker.sent[asked[-1]].offset + 1
    if is_running:
        echo.freeze()
    else:
        echo.ask_to_stop()
        assert await echo.until_ended() == 0
    scene.part.kill()
    await asyncio.to_thread(cut_log, scene.data, ECHO_REQUESTS.name, partition, end=cut_at)
    await asyncio.to_thread(scene.part.start)
    async with scene.asker() as later:
        new = [await later.ask(host=host, text=f"new {number}") for number in range(NEW)]
        await later.settle()
    if is_running:
        echo.thaw()
    else:
        echo = scene.echo()
    await echo.until_logged("Log truncated")
    await scene.until_drained("echo", ECHO_REQUESTS)
    await echo.until_ready()
    requests = [echoed.request_id for _, echoed in await scene.echoes()]
    letters = await scene.letters()
    scene.figures(
        f"cut log ({'running' if is_running else 'stopped'})",
        read_up_to=former_end,
        cut_at=cut_at,
        new=NEW,
        answered_new=len(set(requests) & set(new)),
        read_again=len(requests) - len(set(requests)),
        letters=len(letters),
    )

    assert set(requests) == {*asked, *new}
    assert len(requests) == len(set(requests))
    assert {(each.reason, each.category, each.partition) for each in letters} == {
        ("log_truncated", "infrastructure", partition)
    }
    assert {(each.lost_from, each.lost_to) for each in letters} == {(cut_at, former_end - 1)}
    assert await echo.metric("strider_truncated_logs_total", topic=ECHO_REQUESTS.name) == len(letters)


@pytest.mark.fault("F25", part="a topic that is made again")
@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_a_topic_that_is_made_again_is_read_only_from_an_offset_that_was_committed(
    scene: Scene,
) -> None:
    """The broker forgets the group's offsets with the topic: the service says so, and guesses nothing.

    It notices the new topic when it refreshes the cluster's metadata, within a minute.
    """
    echo = scene.echo()
    await echo.until_ready()
    async with scene.asker() as asker:
        asked = [await asker.ask(text=f"text {number}") for number in range(REQUESTS)]
        await asker.settle()
    await scene.until_drained("echo", ECHO_REQUESTS)
    await scene.broker.make_again(ECHO_REQUESTS)
    async with scene.asker() as later:
        new = [await later.ask(text=f"new {number}") for number in range(NEW)]
        await later.settle()

    def is_stated() -> bool:
        return any(event["reason"] == "offsets" for event in echo.events("Consumption paused"))

    seconds = await until(is_stated, what="the missing offsets are stated", tell=scene.tell, seconds=120)
    reason = await echo.until_red("no committed offset for echo-requests")
    echo.ask_to_stop()
    assert await echo.until_ended() == 0
    await apply_topics(KafkaConnection((scene.part.address,)), [ECHO_REQUESTS], shards=scene.broker.shards)
    echo = scene.echo()
    await echo.until_ready()
    await scene.until_drained("echo", ECHO_REQUESTS)
    requests = [echoed.request_id for _, echoed in await scene.echoes()]
    scene.figures(
        "topic made again",
        stated_after=f"{seconds:.0f}s",
        answered_new=len({*requests} & {*new}),
        read_again=len(requests) - len({*requests}),
    )

    assert "strider topics apply" in reason
    assert {*requests} == {*asked, *new}
    assert len(requests) == len({*requests})
    assert await scene.letters() == []
