"""Bytes that are no event: a few cost themselves, a flood of them stops the consumer and nothing else."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

import pytest

from strider.contracts.generated.events import EchoRequested
from strider.contracts.generated.topics import ECHO_REQUESTS
from strider.runtime.publishing.dead_letter_breaker import DeadLetterBreakerLimits
from tests.processes.services import ADJUSTABLE_ECHO, Service

from .load import Asker
from .scene import Scene

FLOOD = 300
LIMIT = DeadLetterBreakerLimits().consecutive
HOST = "poisoned.example"
STALL_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Poison:
    """Bytes, and the reason that their dead letter must give."""

    reason: str
    value: bytes | None
    host: str | None = HOST


def good_bytes(scene: Scene) -> bytes:
    event = EchoRequested("poisoned", HOST, "text")
    return bytes(scene.broker.codec.encode(ECHO_REQUESTS, event).value)


def poisons(good: bytes) -> list[Poison]:
    """One of each kind that a broker lets through."""
    return [
        Poison("empty", None),
        Poison("empty", b""),
        Poison("bad_magic", b"\x07"),
        Poison("bad_magic", b"<html>this is no event</html>"),
        Poison("bad_magic", b'{"request_id": "json is for public topics alone"}'),
        Poison("unknown_schema", b"\xc3\x01" + bytes(8) + good[10:]),
        Poison("truncated", good[:-3]),
        Poison("trailing_bytes", good + b"\x00"),
        Poison("bad_value", good.replace(b"text", b"\xff\xfe\xfd\xfc")),
        Poison("truncated", good[:5]),
        Poison("unknown_schema", b"\x00" * 5 + good[10:]),
        Poison("bad_magic", b"\x07" * 60_000, host=None),
    ]


@pytest.mark.fault("F22")
@pytest.mark.req("S4.6.4")
async def test_scattered_bad_messages_are_kept_whole_and_their_neighbours_are_handled(scene: Scene) -> None:
    """The neighbours have the same key, so they stand behind it in the same lane."""
    echo = scene.echo()
    kinds = poisons(good_bytes(scene))
    async with scene.asker() as asker:
        places = []
        for poison in kinds:
            await asker.ask(host=HOST, text="before")
            places.append(await asker.send_raw(poison.value, host=poison.host, headers=(("own", b"\xff"),)))
            await asker.ask(host=HOST, text="after")
        await echo.until_ready()
        await scene.until_drained("echo", ECHO_REQUESTS)
    answers, letters = await scene.answers(asker), await scene.letters()
    scene.figures(
        "scattered poison",
        sent=answers.sent,
        answered=answers.answered,
        lost=answers.lost,
        repeated=answers.repeated,
        poisons=len(kinds),
        letters=len(letters),
    )
    found = {(letter.partition, letter.offset): letter for letter in letters}
    assert len(letters) == len(found) == len(kinds)
    for poison, place in zip(kinds, places, strict=True):
        letter = found[place.partition, place.offset]
        value = poison.value
        assert (letter.reason, letter.value) == (poison.reason, value)
        assert letter.key == (poison.host.encode() if poison.host else None)
        assert (letter.service, letter.group, letter.topic) == ("echo", "echo", ECHO_REQUESTS.name)
        assert letter.value_sha256 == ("" if value is None else sha256(value).hexdigest())
        assert ("own", b"\xff") in zip(letter.header_names, letter.header_values, strict=True)
        assert letter.category == "decode"
        assert letter.error_message
    assert (answers.lost, answers.repeated) == (0, 0)
    asked = list(asker.sent)
    assert [echoed.request_id for _, echoed in await scene.echoes()] == asked


@pytest.mark.fault("F22")
@pytest.mark.req("S4.6.4")
async def test_a_flood_stops_the_consumer_until_an_operator_resumes_it(scene: Scene) -> None:
    """Not the process: it stays to say why, and the watchdog lets it, for the pause is a stated one."""
    echo = scene.echo(STALL_THRESHOLD=f"{STALL_SECONDS:g}")
    await echo.until_ready()
    async with scene.asker() as asker:
        for _ in range(50):
            await asker.ask()
        await asker.settle()
        await scene.until_drained("echo", ECHO_REQUESTS)
        flood = await _flood(asker)
        for _ in range(50):
            await asker.ask()
        await asker.settle()
    reason = await echo.until_red("flood")
    before = await scene.letters()
    # Longer than a stall takes to be noticed: it is none, although messages wait and nothing moves.
    quiet = await echo.until(
        lambda: _is_paused_for(echo, 1.2 * STALL_SECONDS), what="is left alone by the watchdog"
    )
    assert (echo.exit_code, echo.events("Stall detected")) == (None, [])
    assert len(await scene.letters()) == len(before)
    assert await echo.metric("strider_paused", reason="flood") == 1
    echo.ask_to_stop()
    assert await echo.until_ended() == 0

    patient = scene.yard.start(ADJUSTABLE_ECHO, {"ADJUSTABLE_BAD_MESSAGES": "100000"})
    await patient.until_ready()
    await scene.until_drained("echo", ECHO_REQUESTS)
    answers, letters = await scene.answers(asker), await scene.letters()
    kept = Counter((letter.partition, letter.offset) for letter in letters)
    scene.figures(
        "poison flood",
        poisons=len(flood),
        letters_when_stopped=f"{len(before)} (bound {LIMIT - 1})",
        letters_in_the_end=len(letters),
        sent=answers.sent,
        answered=answers.answered,
        lost=answers.lost,
        repeated=answers.repeated,
        quiet=f"{quiet:.1f}s",
    )
    assert "bad messages in a row" in reason
    assert 0 < len(before) < LIMIT
    assert answers.lost == 0
    assert kept.keys() == flood.keys()
    assert all(letter.value == flood[letter.partition, letter.offset] for letter in letters)
    assert {letter.reason for letter in letters} == {"bad_magic"}


async def _flood(asker: Asker) -> dict[tuple[int, int], bytes]:
    """Send many bad messages to many partitions; returns where each of them stands."""
    values = [b"bad %d" % number for number in range(FLOOD)]
    places = await asyncio.gather(
        *(asker.send_raw(value, host=asker.hosts[n % len(asker.hosts)]) for n, value in enumerate(values))
    )
    return {(place.partition, place.offset): value for place, value in zip(places, values, strict=True)}


def _is_paused_for(echo: Service, seconds: float) -> bool:
    """Whether so much time has passed since it paused, by the clock that both of us read."""
    (paused,) = (event for event in echo.events("Consumption paused") if event["reason"] == "flood")
    return (datetime.now(UTC) - datetime.fromisoformat(paused["ts"])).total_seconds() > seconds
