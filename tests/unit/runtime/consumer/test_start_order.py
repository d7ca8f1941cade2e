"""Messages that are started by shares: one sender's wait for no place of another's."""

from __future__ import annotations

import asyncio

from structlog.testing import capture_logs

from strider.messaging.effects import NO_EFFECTS, Effects, Subscription
from strider.messaging.inprocess import EventLoopClock, simulate
from strider.messaging.inprocess.log import StoredRecord
from strider.messaging.ports import Record, TopicPartition
from strider.runtime.consumer.messages import AssignedPartition, InFlightMessage
from strider.runtime.consumer.ports import NoConsumerMeter
from strider.runtime.consumer.spec import ConsumerSettings
from strider.runtime.consumer.start_order import Claim, SharedOrder
from strider.runtime.consumer.worker_pool import PLACES_FULL_SECONDS, PlaceWaits
from strider.runtime.observability import log_events

from .loop_harness import NOTES, Note, World

PLACES = 16
SETTINGS = ConsumerSettings(concurrency=PLACES, handler_timeout_seconds=600)


def _claim_of(record: Record) -> Claim:
    sender = (record.key or b"").partition(b"-")[0].decode()
    return Claim((sender, f"{sender} run"), max_wait_seconds=30.0)


class _Handler:
    """Hangs for messages of one sender, and is done at once with those of all others."""

    def __init__(self, hangs_for: str) -> None:
        self.hangs_for = hangs_for
        self.started: list[tuple[str, float]] = []
        self.go_on = asyncio.Event()

    async def __call__(self, note: Note, _record: Record) -> Effects:
        self.started.append((note.key, asyncio.get_running_loop().time()))
        if note.key.startswith(self.hangs_for) and not self.go_on.is_set():
            await self.go_on.wait()
        return NO_EFFECTS

    def started_of(self, sender: str) -> int:
        return sum(key.startswith(sender) for key, _ in self.started)


def _reads(handler: _Handler) -> Subscription:
    return Subscription(NOTES, handler, is_ordered_by_key=False)


def test_requests_that_hang_take_their_share_and_others_pass_them() -> None:
    async def scenario() -> None:
        world, handler = World(partitions=1), _Handler("silent")
        loop = world.loop(_reads(handler), settings=SETTINGS, claim_of=_claim_of)
        task = world.start(loop)
        await world.write(*(Note(f"silent-{number}", "") for number in range(100)))
        await asyncio.sleep(1)
        before = handler.started_of("silent")

        await world.write(*(Note(f"owner-{number}", "") for number in range(50)))
        await asyncio.sleep(1)

        assert 1 <= before < PLACES
        assert handler.started_of("owner") == 50
        assert handler.started_of("silent") == before, "the share of the others is not theirs"
        handler.go_on.set()
        await world.drained()
        await world.stop(loop, task)
        assert handler.started_of("silent") == 100

    simulate(scenario())


def test_a_message_that_waited_too_long_is_started_to_be_ended() -> None:
    async def scenario() -> None:
        world, handler = World(partitions=1), _Handler("silent")
        loop = world.loop(_reads(handler), settings=SETTINGS, claim_of=_claim_of)
        task = world.start(loop)
        await world.write(*(Note(f"silent-{number}", "") for number in range(PLACES)))
        await asyncio.sleep(29)
        waiting = PLACES - handler.started_of("silent")
        assert waiting > 0

        await asyncio.sleep(3)

        assert handler.started_of("silent") == PLACES
        handler.go_on.set()
        await world.drained()
        await world.stop(loop, task)

    simulate(scenario())


def test_a_release_waits_for_what_was_started_and_not_for_what_waits_for_a_place() -> None:
    async def scenario() -> None:
        world, handler = World(partitions=1), _Handler("silent")
        settings = ConsumerSettings(concurrency=PLACES, handler_timeout_seconds=600, stop_timeout_seconds=600)
        loop = world.loop(_reads(handler), settings=settings, claim_of=_claim_of)
        task = world.start(loop)
        await world.write(*(Note(f"silent-{number}", "") for number in range(100)))
        await asyncio.sleep(1)
        before = handler.started_of("silent")
        loop.request_stop()
        await asyncio.sleep(1)
        assert not task.done(), "what was started is finished"

        handler.go_on.set()
        await asyncio.wait_for(task, 5)

        assert handler.started_of("silent") == before

    simulate(scenario())


class _WaitMeter(NoConsumerMeter):
    """Keeps the last values of the waits."""

    def __init__(self) -> None:
        self.waits: dict[str, tuple[int, float]] = {}

    def waiting(self, senders: str, messages: int, seconds: float) -> None:
        self.waits[senders] = (messages, seconds)


def test_messages_that_wait_for_a_place_are_measured_and_reported_once() -> None:
    """Those of other senders wait for nothing, so an operator sees whose places are taken."""
    meter = _WaitMeter()

    async def scenario() -> None:
        world, handler = World(partitions=1), _Handler("silent")
        loop = world.loop(_reads(handler), settings=SETTINGS, claim_of=_claim_of, meter=meter)
        task = world.start(loop)
        await world.write(*(Note(f"silent-{number}", "") for number in range(100)))
        await world.write(*(Note(f"owner-{number}", "") for number in range(50)))
        await asyncio.sleep(PLACES_FULL_SECONDS / 2)
        waiting = 100 - handler.started_of("silent")
        assert {senders: wait[0] for senders, wait in meter.waits.items()} == {"silent": waiting}
        assert not [line for line in lines if line["event"] == log_events.PLACES_FULL.text]

        await asyncio.sleep(PLACES_FULL_SECONDS)
        assert meter.waits["silent"][1] >= PLACES_FULL_SECONDS
        full = [line for line in lines if line["event"] == log_events.PLACES_FULL.text]
        assert [(line["places"], line["waiting"]) for line in full] == [(PLACES, {"silent": waiting})]

        handler.go_on.set()
        await world.drained()
        await asyncio.sleep(2)
        assert meter.waits == {"silent": (0, 0.0)}
        assert lines[-1]["event"] == log_events.PLACES_FREE.text
        await world.stop(loop, task)

    with capture_logs() as lines:
        simulate(scenario())


def test_time_of_a_pause_is_no_wait_for_a_place() -> None:
    meter = _WaitMeter()

    async def scenario() -> None:
        clock = EventLoopClock()
        order = SharedOrder(1, lambda _record: Claim(("owners",)), clock=clock)
        waits = PlaceWaits(order, places=1, meter=meter)
        partition = AssignedPartition(TopicPartition("notes", 0), _reads(_Handler("")))
        order.shares.take(("owners",))
        order.add(InFlightMessage(partition, StoredRecord("notes", 0, 0, 0, b"k", b"v", ()), 2))
        await asyncio.sleep(60)
        waits.report(clock.monotonic(), is_blocked=True)
        assert meter.waits == {}

        await asyncio.sleep(3)
        waits.report(clock.monotonic(), is_blocked=False)

        messages, seconds = meter.waits["owners"]
        assert (messages, round(seconds)) == (1, 3)

    simulate(scenario())
