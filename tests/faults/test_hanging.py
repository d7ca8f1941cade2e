"""Handlers that hang, block the event loop, or eat the memory: each costs what is stated, no more."""

from __future__ import annotations

import time

import pytest

from strider.contracts.generated.topics import ECHO_REQUESTS
from strider.runtime.process.exit_codes import ExitCode
from tests.processes.services import ADJUSTABLE_ECHO, SESSION_SECONDS

from .scene import Scene

DEADLINE_SECONDS = SESSION_SECONDS + 1.0
"""Longer than a session: a member that waits for a handler must stay in the group."""
STALL_SECONDS = 3.0
"""The shortest that is taken."""
END_SECONDS = 5.0
"""From noticing a blocked loop to the end of its process: a second, and a busy machine's due."""
HANG = "hang"
OTHERS = 60


@pytest.mark.fault("F9")
@pytest.mark.req("S4.6.4")
@pytest.mark.req("S3.15.1", part="asynchronous: a handler that hangs delays nobody")
async def test_a_hanging_handler_is_given_up_at_its_deadline_and_delays_no_other(scene: Scene) -> None:
    settings = {"ADJUSTABLE_HANG_ON": HANG, "ADJUSTABLE_DEADLINE_SECONDS": f"{DEADLINE_SECONDS:g}"}
    echo = scene.yard.start(ADJUSTABLE_ECHO, settings)
    await echo.until_ready()
    async with scene.asker() as asker:
        hanging = await asker.ask(host="hanging.example", text=HANG)
        behind = await asker.ask(host="hanging.example", text="behind it")
        others = [await asker.ask(text=f"beside it {n}") for n in range(OTHERS)]
        await asker.settle()
        await scene.until_drained("echo", ECHO_REQUESTS)
    echoes = {echoed.request_id: record.timestamp for record, echoed in await scene.echoes()}
    (letter,) = await scene.letters()
    answers = await scene.answers(asker)
    beside_seconds = (max(echoes[name] for name in others) - letter.timestamp_ms) / 1000
    given_up_seconds = (letter.occurred_at_ms - letter.timestamp_ms) / 1000
    scene.figures(
        "hanging handler",
        sent=answers.sent,
        answered=answers.answered,
        lost=answers.lost - len([letter]),
        repeated=answers.repeated,
        given_up=f"after {given_up_seconds:.1f}s (deadline {DEADLINE_SECONDS:g}s)",
        slowest_beside_it=f"{beside_seconds:.2f}s",
    )
    place = asker.sent[hanging]
    assert (letter.reason, letter.category) == ("handler_timeout", "handler")
    assert (letter.partition, letter.offset) == (place.partition, place.offset)
    assert echoes.keys() == {behind, *others}
    assert given_up_seconds >= DEADLINE_SECONDS
    assert beside_seconds < DEADLINE_SECONDS
    assert echoes[behind] - letter.timestamp_ms >= DEADLINE_SECONDS * 1000
    assert len(echo.events("Partitions assigned")) == 1
    assert await echo.metric("strider_dead_letters_total", reason="handler_timeout") == 1


@pytest.mark.req("S2.1.4", "S2.1.5")
async def test_a_blocked_event_loop_ends_the_process_with_the_documented_code(scene: Scene) -> None:
    """The watchdog has a thread of its own; what was in flight comes again to the next process."""
    settings = {"STALL_THRESHOLD": f"{STALL_SECONDS:g}"}
    echo = scene.yard.start(ADJUSTABLE_ECHO, {"ADJUSTABLE_BLOCK_ON": "block", **settings})
    await echo.until_ready()
    async with scene.asker() as asker:
        await asker.ask(text="before")
        await asker.settle()
        await scene.until_drained("echo", ECHO_REQUESTS)
        await asker.ask(text="block")
        for number in range(OTHERS):
            await asker.ask(text=f"behind it {number}")
        await asker.settle()
    await echo.until_logged("Stall detected")
    began = time.monotonic()
    assert await echo.until_ended() == ExitCode.STALLED
    end_seconds = time.monotonic() - began
    stalled, diagnosed = echo.events("Stall detected")[0], echo.events("Stall diagnosed")[0]

    scene.echo()
    await scene.until_drained("echo", ECHO_REQUESTS)
    answers = await scene.answers(asker)
    scene.figures(
        "blocked event loop",
        sent=answers.sent,
        answered=answers.answered,
        lost=answers.lost,
        repeated=answers.repeated,
        noticed=f"after {stalled['loop_silent_seconds']}s (threshold {STALL_SECONDS:g}s)",
        ended=f"{end_seconds:.1f}s after that (bound {END_SECONDS:g}s)",
        exit_code=ExitCode.STALLED.value,
    )
    assert stalled["kind"] == "blocked"
    assert stalled["loop_silent_seconds"] >= STALL_SECONDS
    assert "adjustable_echo.py" in str(diagnosed["threads"])
    assert end_seconds < END_SECONDS
    assert answers.lost == 0
    assert await scene.letters() == []


@pytest.mark.req("S2.1.14")
async def test_memory_over_the_limit_ends_the_process_in_order_with_code_1(scene: Scene) -> None:
    """No interpreter fits in a megabyte, so the first looks of the watchdog are over the limit."""
    echo = scene.echo(STRIDER_MEMORY_LIMIT_MB="1", STALL_THRESHOLD="5")
    assert await echo.until_ended() == ExitCode.FAILED
    (fatal,) = echo.events("Memory limit exceeded")
    assert (fatal["level"], fatal["why"]) == ("critical", "memory")
    assert echo.events()[-1]["event"] == "Service stopped"
