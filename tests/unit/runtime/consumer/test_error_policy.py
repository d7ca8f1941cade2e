"""Bad messages, hanging handlers, floods, and infrastructure that goes away and comes back."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from strider.contracts import EncodeError
from strider.messaging.effects import NO_EFFECTS, Effects, GivenUp, Publish, Subscription
from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.inprocess import simulate
from strider.messaging.ports import Header, OutgoingMessage, Record
from strider.runtime.consumer.spec import ConsumerSettings
from strider.runtime.publishing.dead_letter_breaker import DeadLetterBreakerLimits

from .loop_harness import ANSWERS, CLOSINGS, NOTES, Note, World, answer, closing, notes


async def _echo(note: Note, _record: object) -> Effects:
    return Effects(publish=(answer(note),))


def test_an_undecodable_message_becomes_a_dead_letter_with_its_bytes() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        headers: tuple[Header, ...] = (
            ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            ("entry", b"job:url"),
            ("execution", b"run-7"),
            ("odd", b"\xff"),
        )
        world.broker.append(OutgoingMessage("notes", b"k1", b"bad \x00 bytes", headers=headers))
        await world.write(Note("k1", "after"))
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)
        (letter,) = world.letters()

        assert (letter.topic, letter.partition, letter.offset) == ("notes", 0, 0)
        assert (letter.service, letter.group, letter.reason, letter.category) == (
            "reader",
            "readers",
            "bad_magic",
            "decode",
        )
        assert (letter.key, letter.value, letter.value_bytes) == (b"k1", b"bad \x00 bytes", 11)
        assert tuple(zip(letter.header_names, letter.header_values, strict=True)) == headers
        assert (letter.task_id, letter.execution_id) == ("job:url", "run-7")
        assert letter.trace_id == "0af7651916cd43dd8448eb211c80319c"
        assert letter.timestamp_ms == letter.occurred_at_ms == 1767225600000
        assert world.texts() == ["after"]

    simulate(scenario())


@pytest.mark.parametrize("value", [pytest.param(None, id="tombstone"), pytest.param(b"bad", id="bytes")])
def test_a_bad_message_does_not_delay_others(value: bytes | None) -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        await world.write(*notes(5))
        world.broker.append(OutgoingMessage("notes", b"k0", value))
        await world.write(*notes(5))
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert len(world.texts()) == 10
        assert [letter.value for letter in world.letters()] == [value]

    simulate(scenario())


def test_a_crashing_handler_sends_its_message_to_the_dead_letters() -> None:
    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(note: Note, record: Record) -> Effects:
            if note.text == "0001":
                raise LookupError("nobody there")
            return await _echo(note, record)

        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.write(*notes(3, keys=1))
        await world.drained()
        await world.stop(loop, task)
        (letter,) = world.letters()

        assert (letter.reason, letter.category, letter.offset) == ("handler_crashed", "handler", 1)
        assert (letter.error_class, letter.error_message) == ("LookupError", "nobody there")
        assert 'raise LookupError("nobody there")' in letter.stack_trace
        assert world.texts() == ["0000", "0002"]

    simulate(scenario())


def test_the_service_adds_effects_to_a_dead_letter() -> None:
    """A dead-lettered page must be settled all the same; its events come before the offset."""

    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(_note: Note, _record: Record) -> Effects:
            raise ValueError("no")

        async def last_words(record: Record, failure: GivenUp) -> Effects:
            return Effects(publish=(Publish(CLOSINGS, Note("", f"{record.offset} {failure.reason}")),))

        loop = world.loop(Subscription(NOTES, handle), on_given_up=last_words)
        task = world.start(loop)
        await world.write(*notes(2))
        await world.drained()
        await world.stop(loop, task)

        assert world.texts(CLOSINGS) == ["0 handler_crashed", "1 handler_crashed"]
        assert len(world.letters()) == 2

    simulate(scenario())


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(Effects(publish=(Publish(CLOSINGS, Note("", "refuse")),)), id="that cannot be encoded"),
        pytest.param(None, id="whose hook crashes"),
    ],
)
def test_failing_given_up_effects_cost_no_dead_letter(words: Effects | None) -> None:
    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(_note: Note, _record: Record) -> Effects:
            raise ValueError("no")

        async def last_words(_record: Record, _failure: GivenUp) -> Effects:
            if words is None:
                raise KeyError("hook")
            return words

        loop = world.loop(Subscription(NOTES, handle), on_given_up=last_words)
        task = world.start(loop)
        await world.write(*notes(2))
        await world.drained()
        await world.stop(loop, task)

        assert [letter.offset for letter in world.letters()] == [0, 1]
        assert world.texts(CLOSINGS) == []

    simulate(scenario())


def test_a_result_that_cannot_be_encoded_is_dead_lettered() -> None:
    """Nothing of such a result is published: half of it could close what was never opened."""

    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(note: Note, _record: Record) -> Effects:
            return Effects(
                publish=(answer(note), Publish(ANSWERS, Note("k", "refuse"))), publish_last=(closing(note),)
            )

        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.write(*notes(1))
        await world.drained()
        await world.stop(loop, task)

        assert [letter.reason for letter in world.letters()] == ["answer_refused"]
        assert world.texts(ANSWERS) == world.texts(CLOSINGS) == []

    simulate(scenario())


def test_a_crash_in_after_ack_is_a_crash_of_the_handler() -> None:
    async def scenario() -> None:
        world = World(partitions=1)

        async def remember() -> None:
            raise ZeroDivisionError

        async def handle(note: Note, _record: Record) -> Effects:
            return Effects(publish=(answer(note),), after_ack=remember)

        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.write(*notes(1))
        await world.drained()
        await world.stop(loop, task)

        assert [(each.reason, each.error_class) for each in world.letters()] == [
            ("handler_crashed", "ZeroDivisionError")
        ]

    simulate(scenario())


def test_a_hanging_handler_is_cancelled_at_its_deadline() -> None:
    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(note: Note, record: Record) -> Effects:
            if note.text == "0000":
                await asyncio.sleep(10_000)
            return await _echo(note, record)

        loop = world.loop(
            Subscription(NOTES, handle), settings=ConsumerSettings(handler_timeout_seconds=10, concurrency=1)
        )
        task = world.start(loop)
        await world.write(*notes(4, keys=1))
        await world.drained()
        took = world.clock.monotonic()
        await world.stop(loop, task)

        assert [(letter.offset, letter.reason) for letter in world.letters()] == [(0, "handler_timeout")]
        assert world.texts() == ["0001", "0002", "0003"]
        assert 10 <= took < 12

    simulate(scenario())


@pytest.mark.parametrize(
    ("on_cancel", "reasons", "answers"),
    [
        pytest.param("answer", [], ["0000", "0001"], id="that responds after all counts"),
        pytest.param("crash", ["handler_timeout"], ["0001"], id="that crashes has timed out"),
    ],
)
def test_a_handler_at_its_deadline(on_cancel: str, reasons: list[str], answers: list[str]) -> None:
    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(note: Note, record: Record) -> Effects:
            if note.text == "0000":
                try:
                    await asyncio.sleep(10_000)
                except asyncio.CancelledError:
                    if on_cancel == "crash":
                        raise OSError("torn") from None
            return await _echo(note, record)

        loop = world.loop(Subscription(NOTES, handle), settings=ConsumerSettings(concurrency=1))
        task = world.start(loop)
        await world.write(*notes(2, keys=1))
        await world.drained()
        await world.stop(loop, task)

        assert [letter.reason for letter in world.letters()] == reasons
        assert world.texts() == answers

    simulate(scenario())


def test_a_handler_that_ends_as_cancelled_without_cause_has_crashed() -> None:
    """Else its worker would be gone silently, and the message would stay open for ever."""

    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(note: Note, record: Record) -> Effects:
            if note.text == "0000":
                raise asyncio.CancelledError
            return await _echo(note, record)

        loop = world.loop(Subscription(NOTES, handle), settings=ConsumerSettings(concurrency=1))
        task = world.start(loop)
        await world.write(*notes(3, keys=1))
        await world.drained()
        await world.stop(loop, task)

        assert [letter.reason for letter in world.letters()] == ["handler_crashed"]
        assert world.texts() == ["0001", "0002"]

    simulate(scenario())


def test_a_flood_of_bad_messages_stops_the_loop_and_loses_none() -> None:
    async def scenario() -> None:
        world = World(partitions=1, settings=ConsumerSettings(breaker=DeadLetterBreakerLimits(consecutive=5)))
        await world.write(*notes(3), *[b"bad"] * 500, *notes(3))
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await world.until(lambda: "flood" in loop.paused_reasons)
        await asyncio.sleep(3600)
        tripped = (task.done(), len(world.letters()), world.committed(), len(world.texts()))
        why = loop.paused_reasons["flood"]

        world.codec.decode = _anything  # type: ignore[method-assign]  # the fault is repaired …
        loop.reset_breaker()  # … until the breaker is reset
        await world.drained()
        reasons = loop.paused_reasons
        await world.stop(loop, task)

        assert tripped == (False, 4, [7], 3)
        assert why.startswith("5 bad messages in a row, the last one notes[0]@7")
        assert len(world.letters()) == 4
        assert world.committed() == [506]
        assert reasons == {}

    simulate(scenario())


def test_undecodable_messages_of_a_public_topic_do_not_trip_the_breaker() -> None:
    """Else a hundred bad seeds of one client would shut out everybody's, until a person has looked."""

    async def scenario() -> None:
        world = World(partitions=1, settings=ConsumerSettings(breaker=DeadLetterBreakerLimits(consecutive=5)))
        await world.write(*notes(1), *[b"bad"] * 500, *notes(1))
        loop = world.loop(Subscription(NOTES, _echo, is_public=True))
        task = world.start(loop)
        await world.drained()
        reasons = loop.paused_reasons
        await world.stop(loop, task)

        assert reasons == {}
        assert len(world.letters()) == 500
        assert len(world.texts()) == 2

    simulate(scenario())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("crash", "handler_crashed", id="the handler crashes"),
        pytest.param("refuse", "answer_refused", id="the result cannot be written"),
    ],
)
def test_no_failure_that_a_message_of_a_public_topic_causes_trips_the_breaker(text: str, reason: str) -> None:
    """Its sender chooses the bytes, so whatever they reveal of our faults must not stop the others."""

    async def scenario() -> None:
        world = World(partitions=1, settings=ConsumerSettings(breaker=DeadLetterBreakerLimits(consecutive=5)))

        async def handle(items: Sequence[tuple[Note, Record]]) -> Effects:
            if any(note.text == "crash" for note, _ in items):
                raise ValueError("a bug")
            return Effects(publish=[answer(note) for note, _ in items])

        await world.write(*[f"k={text}".encode()] * 50, *notes(3))
        loop = world.loop(Subscription(NOTES, batch_handler=handle, is_public=True))
        task = world.start(loop)
        await world.drained()
        reasons = loop.paused_reasons
        await world.stop(loop, task)

        assert reasons == {}
        assert [letter.reason for letter in world.letters()] == [reason] * 50
        assert world.texts() == ["0000", "0001", "0002"]

    simulate(scenario())


def _anything(_topic: object, value: bytes, _headers: object, **_only: object) -> Note:
    return Note("k", value.decode())


def test_a_tripped_loop_stops_on_request() -> None:
    async def scenario() -> None:
        world = World(partitions=1, settings=ConsumerSettings(breaker=DeadLetterBreakerLimits(consecutive=2)))
        await world.write(*[b"bad"] * 10)
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await world.until(lambda: "flood" in loop.paused_reasons)
        await world.stop(loop, task)

        assert world.committed() == [1]

    simulate(scenario())


class _Part:
    """A dependency that can be down, and records when it was called."""

    def __init__(self, world: World, *, is_down: bool = False) -> None:
        self.is_down = is_down
        self.asked_at: list[float] = []
        self._world = world

    async def ask(self) -> None:
        self.asked_at.append(self._world.clock.monotonic())
        if self.is_down:
            raise Unavailable("redis", "connection refused")


@pytest.mark.req("S3.19.8")
def test_a_good_message_waits_out_a_long_outage() -> None:
    """An hour without Redis: no dead letter, no commit, ever rarer attempts, resumed by itself."""

    async def scenario() -> None:
        world = World(partitions=2)
        redis = _Part(world, is_down=True)

        async def handle(note: Note, record: Record) -> Effects:
            await redis.ask()
            return await _echo(note, record)

        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.write(*notes(300, keys=30))
        await asyncio.sleep(3600)
        during = (loop.paused_reasons, world.committed(), world.letters(), world.texts())
        asked_early = sum(moment < 60 for moment in redis.asked_at)
        waits = [b - a for a, b in zip(redis.asked_at[80:], redis.asked_at[81:], strict=False)]
        redis.is_down = False
        await world.drained()
        back_after = world.clock.monotonic() - 3600
        await world.stop(loop, task)

        assert during == ({"redis": "connection refused"}, [0, 0], [], [])
        assert asked_early < 80
        assert len(redis.asked_at) < 600
        assert waits
        assert all(30 <= wait <= 30.5 for wait in waits)
        assert len(set(waits)) > 10
        assert back_after < 32
        assert world.texts() == [f"{n:04}" for n in range(300)]
        assert loop.paused_reasons == {}

    simulate(scenario())


@pytest.mark.parametrize("moment", ["handle", "remember", "last words"])
def test_unavailable_is_tried_again_wherever_it_is_raised(moment: str) -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        redis = _Part(world, is_down=True)

        async def handle(note: Note, _record: Record) -> Effects:
            if moment == "handle":
                await redis.ask()
            if moment == "last words":
                raise ValueError("no")
            return Effects(publish=(answer(note),), after_ack=redis.ask if moment == "remember" else None)

        async def last_words(_record: Record, _failure: GivenUp) -> Effects:
            await redis.ask()
            return NO_EFFECTS

        loop = world.loop(Subscription(NOTES, handle), on_given_up=last_words)
        task = world.start(loop)
        await world.write(*notes(4, keys=1))
        await asyncio.sleep(100)
        before = world.committed()
        redis.is_down = False
        await world.drained()
        await world.stop(loop, task)

        assert before == [0]
        assert len(set(world.texts())) + len(world.letters()) == 4

    simulate(scenario())


def test_one_part_down_does_not_end_the_wait_for_another() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        down = {"redis", "postgres"}

        async def handle(note: Note, record: Record) -> Effects:
            part = "redis" if note.key == "k0" else "postgres"
            await asyncio.sleep(1)  # both have begun when the first one fails
            if part in down:
                raise Unavailable(part, "gone")
            return await _echo(note, record)

        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.write(*notes(10, keys=2))
        await asyncio.sleep(100)
        both = set(loop.paused_reasons)
        down.discard("redis")
        await asyncio.sleep(100)
        one = set(loop.paused_reasons)
        down.discard("postgres")
        await world.drained()
        await world.stop(loop, task)

        assert (both, one) == ({"redis", "postgres"}, {"postgres"})
        assert len(set(world.texts())) == 10

    simulate(scenario())


def test_a_broker_that_goes_away_is_waited_for() -> None:
    """Polls, sends and commits fail; afterwards everything was published, and nothing dead-lettered."""

    async def scenario() -> None:
        world = World(partitions=2)
        world.bus._chance, world.bus._ack_seconds = world.chance, (0.0, 2.0)
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await world.write(*notes(100, keys=20))
        await asyncio.sleep(0.5)
        world.broker.set_unavailable("connection reset")
        await asyncio.sleep(600)
        reasons = loop.paused_reasons
        world.broker.set_available()
        await world.write(*notes(100, keys=20))
        await world.drained()
        after = loop.paused_reasons
        await world.stop(loop, task)

        assert "poll" in reasons
        assert set(world.texts()) == {f"{n:04}" for n in range(100)}
        assert world.letters() == []
        assert after == {}

    simulate(scenario())


def test_an_unacknowledged_last_event_is_published_again_before_after_ack() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        world.bus._chance, world.bus._ack_seconds = world.chance, (2.0, 2.0)
        remembered: list[tuple[list[str], list[str]]] = []

        async def handle(note: Note, _record: Record) -> Effects:
            async def remember() -> None:
                remembered.append((world.texts(ANSWERS), world.texts(CLOSINGS)))

            return Effects(publish=(answer(note),), publish_last=(closing(note),), after_ack=remember)

        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.write(*notes(1))
        await world.until(lambda: world.texts(ANSWERS))
        await asyncio.sleep(1.5)  # acknowledged; the last event is on its way
        world.broker.set_unavailable("connection reset")
        await asyncio.sleep(60)
        said_in_vain = (world.texts(ANSWERS), world.texts(CLOSINGS), list(remembered))
        world.broker.set_available()
        await world.drained()
        await world.stop(loop, task)

        assert said_in_vain == (["0000"], [], [])
        assert remembered == [(["0000", "0000"], ["0000"])]

    simulate(scenario())


def test_a_loop_started_before_its_broker_waits_for_it() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        world.broker.set_unavailable("not there yet")
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await asyncio.sleep(300)
        reasons = dict(loop.paused_reasons)
        world.broker.set_available()
        await world.write(*notes(3))
        await world.drained()
        await world.stop(loop, task)

        assert reasons == {
            "joining": "waiting for the group to hand out partitions",
            "poll": "kafka is unavailable: not there yet",
        }

    simulate(scenario())


def test_a_loop_whose_broker_never_comes_stops_at_once() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        world.broker.set_unavailable("not there")
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await asyncio.sleep(300)
        asked_at = world.clock.monotonic()
        await world.stop(loop, task)

        assert world.clock.monotonic() - asked_at < 0.1

    simulate(scenario())


class _Objects:
    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def put(self, content: bytes) -> str:
        reference = f"objects/{len(self.kept)}"
        self.kept[reference] = content
        return reference


def test_what_is_too_large_for_a_dead_letter_goes_to_the_object_store() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        objects = _Objects()
        ports = world.ports()
        ports.dead_letters._objects = objects
        large = b"bad" + b"x" * 60_000
        world.broker.append(OutgoingMessage("notes", None, large, headers=(("h", b"y" * 50_000),)))
        loop = world.loop(Subscription(NOTES, _echo), dead_letters=ports.dead_letters)
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)
        (letter,) = world.letters()

        assert (letter.value, letter.value_bytes) == (None, 60_003)
        assert objects.kept[letter.value_object] == large
        assert letter.header_names == ("strider-claimed-headers",)
        claimed = json.loads(objects.kept[letter.header_values[0].decode()])
        assert claimed == {"key": None, "headers": [["h", base64.b64encode(b"y" * 50_000).decode()]]}

    simulate(scenario())


def test_without_an_object_store_a_large_message_is_cut_and_the_loop_continues() -> None:
    """What is cut off still stands where it was read; a loop that stood still would let everything wait."""

    async def scenario() -> None:
        world = World(partitions=1)
        large = b"bad" + b"x" * 60_000
        await world.write(large, Note("k", "after"))
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)
        (letter,) = world.letters()

        assert large.startswith(letter.value or b"nothing")
        assert len(letter.value or b"") > 48_000
        assert (letter.value_bytes, letter.header_names) == (60_003, ("strider-truncated",))
        assert letter.error_message.startswith("truncated: without the last ")
        assert letter.error_message.endswith(
            "whole at notes[0]@0 until retention takes it. bad_magic: no note"
        )
        assert (world.texts(), world.committed()) == (["after"], [2])

    simulate(scenario())


def test_what_is_no_messages_fault_ends_the_loop() -> None:
    """A process that must not run like this ends with the reason and commits nothing."""

    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(_note: Note, _record: Record) -> Effects:
            raise StartRefused("the shard count has changed")

        loop = world.loop(Subscription(NOTES, handle))
        await world.write(*notes(3))
        with pytest.raises(StartRefused, match="the shard count has changed"):
            await loop.run()

        assert world.committed() == [0]
        assert world.broker.group("readers").members == {}

    simulate(scenario())


def test_a_dead_letter_that_cannot_be_written_ends_the_loop() -> None:
    async def scenario() -> None:
        world = World(partitions=1)

        def refuse(_topic: object, _event: object) -> None:
            raise EncodeError("no")

        world.codec.encode = refuse  # type: ignore[assignment,method-assign]
        world.broker.append(OutgoingMessage("notes", None, b"bad"))
        with pytest.raises(EncodeError):
            await world.loop(Subscription(NOTES, _echo)).run()

        assert world.committed() == [0]

    simulate(scenario())


def test_cancelling_the_loop_commits_nothing_more() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        began: list[str] = []

        async def handle(note: Note, _record: Record) -> Effects:
            began.append(note.text)
            await asyncio.sleep(1000)
            return NO_EFFECTS

        task = asyncio.create_task(
            world.loop(
                Subscription(NOTES, handle), settings=replace(world.settings, handler_timeout_seconds=5000)
            ).run()
        )
        await world.write(*notes(3, keys=3))
        await world.until(lambda: len(began) == 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert (world.committed(), world.letters()) == ([0], [])

    simulate(scenario())
