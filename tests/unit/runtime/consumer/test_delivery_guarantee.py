"""The delivery guarantee, under everything that can happen: what is committed is done, nothing is lost.

Hypothesis draws what messages are like, when processes start, stop, freeze and die (also in the middle of
publishing, writing state and committing, just before or just after it took effect), and when the broker is
away. All of it runs on the bus in memory in virtual time, so an example that fails does so again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strider.messaging.effects import Effects, Subscription
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess import InProcessConsumer, InProcessProducer, simulate
from strider.messaging.ports import (
    GroupSpec,
    OutgoingMessage,
    RebalanceListener,
    Record,
    RecordMetadata,
    TopicPartition,
)
from strider.runtime.clocks import SeededRandomness
from strider.runtime.consumer.spec import ConsumerSettings
from strider.runtime.publishing.dead_letter_breaker import DeadLetterBreakerLimits

from .loop_harness import ANSWERS, CLOSINGS, LETTERS, NOTES, Note, WatchedBus, World, answer, closing

SETTINGS = ConsumerSettings(
    concurrency=3,
    buffer_messages=12,
    poll_records=5,
    handler_timeout_seconds=5,
    revoke_timeout_seconds=1,
    stop_timeout_seconds=2,
    breaker=DeadLetterBreakerLimits(consecutive=10_000, failure_share=1.1),
)

STEPS = ("say", "close", "remember", "commit")


@dataclass(frozen=True)
class Plan:
    """What hypothesis decides."""

    kinds: tuple[str, ...]
    """Of each message: plain, slow, shaky (unavailable at first), crash, hang, garbage."""
    keys: int
    deaths: frozenset[tuple[str, int, bool]]
    """Step, how many times that step is taken before, and whether it still takes effect."""
    events: tuple[tuple[float, str, int], ...]
    """When, what, and to which process."""
    is_batch: bool
    seed: int


plans = st.builds(
    Plan,
    kinds=st.lists(
        st.sampled_from(["plain"] * 6 + ["slow", "slow", "shaky", "crash", "hang", "garbage"]), max_size=40
    ).map(tuple),
    keys=st.integers(1, 6),
    deaths=st.frozensets(st.tuples(st.sampled_from(STEPS), st.integers(0, 30), st.booleans()), max_size=5),
    events=st.lists(
        st.tuples(
            st.floats(0, 12),
            st.sampled_from(["start", "start", "stop", "kill", "freeze", "thaw", "fail", "recover"]),
            st.integers(0, 3),
        ),
        max_size=12,
    ).map(lambda events: tuple(sorted(events))),
    is_batch=st.booleans(),
    seed=st.integers(0, 2**16),
)


@dataclass(eq=False)
class Stage:
    """The world of one example, and the proof that the promise holds at every commit."""

    plan: Plan
    world: World = field(init=False)
    remembered: set[str] = field(default_factory=set)
    tried: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = World(partitions=2, settings=SETTINGS)
        self.world.chance = SeededRandomness(self.plan.seed)

    def text(self, record: Record) -> str:
        return (record.value or b"").decode().rpartition("=")[2]

    def check_commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Everything below a committed offset must be published with its state written, or dead-lettered."""
        said, closed = set(self.world.texts(ANSWERS)), set(self.world.texts(CLOSINGS))
        given_up = {(letter.partition, letter.offset) for letter in self.world.letters()}
        for name, offset in offsets.items():
            for record in self.world.broker.log(name).records:
                text = self.text(record)
                done = text in said and text in closed and text in self.remembered
                if record.offset < offset and not done and (record.partition, record.offset) not in given_up:
                    self.broken.append(f"{text} is committed, and not done")

    def check_close(self, text: str) -> None:
        if text not in self.world.texts(ANSWERS):
            self.broken.append(f"{text} is closed before it was said")

    def check_remember(self, text: str) -> None:
        if text not in self.world.texts(CLOSINGS):
            self.broken.append(f"{text} is remembered before it was closed")


class Process:
    """One process: a bus of its own, a loop, and its ways to end."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.bus = MortalBus(self)
        reads = (
            Subscription(NOTES, batch_handler=self.handle_batch)
            if stage.plan.is_batch
            else Subscription(NOTES, self.handle)
        )
        self.loop = stage.world.loop(reads, bus=self.bus)
        self.task = asyncio.create_task(self.loop.run())
        self.is_dead = False

    async def step(self, name: str) -> bool:
        """Take a step; return whether it is the last one, and still takes effect. Or die here."""
        number = self.stage.steps[name]
        self.stage.steps[name] += 1
        if (name, number, False) in self.stage.plan.deaths:
            self.kill()
            await asyncio.Event().wait()
        return (name, number, True) in self.stage.plan.deaths

    async def end(self, *, is_last: bool) -> None:
        if is_last:
            self.kill()
            await asyncio.Event().wait()

    def kill(self) -> None:
        self.is_dead = True
        if hasattr(self.bus, "member"):
            self.bus.member.kill()
        self.task.cancel()

    async def handle(self, note: Note, record: Record) -> Effects:
        await self.behave(note)
        return self.effects([(note, record)])

    async def handle_batch(self, items: list[tuple[Note, Record]]) -> Effects:
        for note, _ in items:
            await self.behave(note)
        return self.effects(items)

    def effects(self, items: list[tuple[Note, Record]]) -> Effects:
        async def remember() -> None:
            is_last = await self.step("remember")
            for note, _ in items:
                self.stage.check_remember(note.text)
                self.stage.remembered.add(note.text)
            await self.end(is_last=is_last)

        return Effects(
            publish=[answer(note) for note, _ in items],
            publish_last=[closing(note) for note, _ in items],
            after_ack=remember,
        )

    async def behave(self, note: Note) -> None:
        kind = note.text.split("-")[1]
        self.stage.tried[note.text] += 1
        if kind == "slow":
            await asyncio.sleep(self.stage.world.chance.uniform(0, 4))
        elif kind == "shaky" and self.stage.tried[note.text] < 4:
            await asyncio.sleep(self.stage.world.chance.uniform(0, 1))  # so that several fail at a time
            raise Unavailable("redis", "away")
        elif kind == "crash":
            raise ValueError(note.text)
        elif kind == "hang":
            await asyncio.sleep(1000)


class MortalBus(WatchedBus):
    """A bus whose process may die at each of its steps."""

    def __init__(self, process: Process) -> None:
        world = process.stage.world
        super().__init__(world.broker, chance=world.chance, ack_seconds=(0, 0.5))
        self._process = process

    async def consumer(self, spec: GroupSpec, listener: RebalanceListener) -> InProcessConsumer:
        self.member = MortalConsumer(self._process, spec, listener)
        return self.member

    async def producer(self, *, compression: str | None = "zstd") -> MortalProducer:
        return MortalProducer(self._process)


class MortalConsumer(InProcessConsumer):
    def __init__(self, process: Process, spec: GroupSpec, listener: RebalanceListener) -> None:
        super().__init__(process.stage.world.broker, spec, listener)
        self._process = process

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        is_last = await self._process.step("commit")
        await super().commit(offsets)
        self._process.stage.check_commit(offsets)
        await self._process.end(is_last=is_last)


class MortalProducer(InProcessProducer):
    def __init__(self, process: Process) -> None:
        world = process.stage.world
        super().__init__(world.broker, chance=world.chance, ack_seconds=(0, 0.5))
        self._process = process

    async def send(self, message: OutgoingMessage) -> asyncio.Future[RecordMetadata]:
        name = "close" if message.topic == CLOSINGS.name else "say"
        is_last = await self._process.step(name)
        if name == "close":
            self._process.stage.check_close((message.value or b"").decode().rpartition("=")[2])
        acknowledgement = await super().send(message)
        await self._process.end(is_last=is_last)
        return acknowledgement


async def run(plan: Plan) -> None:
    stage = Stage(plan)
    world = stage.world
    sent = []
    for number, kind in enumerate(plan.kinds):
        text = f"{number:03}-{kind}"
        note = Note(f"k{number % plan.keys}", text)
        sent.append(note)
        prefix = b"bad" if kind == "garbage" else b""
        world.broker.append(
            OutgoingMessage(NOTES.name, note.key.encode(), prefix + f"{note.key}={text}".encode())
        )
    processes = [Process(stage)]
    for moment, what, which in plan.events:
        await asyncio.sleep(max(0.0, moment - world.clock.monotonic()))
        do(what, processes, which, stage)
    world.broker.set_available()
    for process in processes:
        if hasattr(process.bus, "member") and not process.is_dead:
            process.bus.member.thaw()
    last = Process(stage)
    processes.append(last)
    await until_drained(stage, processes)
    for process in processes:
        process.loop.request_stop()
    await asyncio.wait([process.task for process in processes])
    check(stage, sent, processes)


def do(what: str, processes: list[Process], which: int, stage: Stage) -> None:
    process = processes[which % len(processes)]
    if what == "start" and len(processes) < 8:
        processes.append(Process(stage))
    elif what == "stop":
        process.loop.request_stop()
    elif what == "fail":
        stage.world.broker.set_unavailable("away")
    elif what == "recover":
        stage.world.broker.set_available()
    elif what == "kill":
        process.kill()
    elif hasattr(process.bus, "member") and not process.is_dead:
        (process.bus.member.freeze if what == "freeze" else process.bus.member.thaw)()


async def until_drained(stage: Stage, processes: list[Process]) -> None:
    ends_at = stage.world.clock.monotonic() + 3600
    while stage.world.lag():
        if all(process.task.done() for process in processes):
            processes.append(Process(stage))  # a supervisor would do the same
        assert stage.world.clock.monotonic() < ends_at, "it does not come to an end"
        await asyncio.sleep(0.25)


def check(stage: Stage, sent: list[Note], processes: list[Process]) -> None:
    world = stage.world
    assert stage.broken == []
    for process in processes:
        assert process.task.cancelled() or process.task.exception() is None
    bad = {note.text for note in sent if note.text.split("-")[1] in {"crash", "hang", "garbage"}}
    good = {note.text for note in sent} - bad
    assert stage.remembered == set(world.texts(ANSWERS)) == set(world.texts(CLOSINGS)) == good
    letters = {(letter.value or b"").decode().rpartition("=")[2] for letter in world.letters()}
    assert letters == bad
    for key in {note.key for note in sent}:
        firsts = list(dict.fromkeys(note.text for note in world.read(ANSWERS) if note.key == key))
        assert firsts == [note.text for note in sent if note.key == key and note.text in good]
    assert world.broker.topic(LETTERS.name)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(plans)
def test_nothing_is_lost_whatever_happens(plan: Plan) -> None:
    simulate(run(plan))


def test_death_at_each_step_repeats_and_loses_nothing() -> None:
    """Each step of a quiet run, once just before and once just after it took effect."""
    kinds = ("plain", "slow", "plain", "crash", "plain", "garbage", "plain")
    for is_batch in (False, True):
        for step in STEPS:
            for number in range(4):
                for takes_effect in (False, True):
                    simulate(
                        run(
                            Plan(
                                kinds,
                                keys=2,
                                deaths=frozenset({(step, number, takes_effect)}),
                                events=(),
                                is_batch=is_batch,
                                seed=7,
                            )
                        )
                    )
