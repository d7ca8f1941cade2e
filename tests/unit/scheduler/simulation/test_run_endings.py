"""Runs end once, neither early nor never, with crashes, takeovers, losses and repeats."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.events import EntryRecorded, JobEvent, SeedSubmitted
from strider.contracts.generated.topics import FRONTIER, JOB_COMMANDS, JOB_EVENTS, SEEDS_SUBMITTED
from strider.messaging.effects import NO_EFFECTS, Effects, Publish, Subscription
from strider.messaging.inprocess import simulate
from strider.messaging.ports import Record
from strider.scheduler.core.runs.ending_runs import proving_shard

from .checks import check_politeness, check_visits
from .commands import a_command
from .pipeline import SHARDS
from .seeds import seeds
from .web import Host, Page, Web, a_web
from .world import SEEDS_GROUP, SPEC, SchedulerInstance, SimulatedWorld

END_SECONDS = 3_000
SITE = "www.site.test"


class EndingWorld(SimulatedWorld):
    """A crawl whose seeds come by their topic, with an intake that is killed and repeats."""

    chance: Any
    intake: asyncio.Task[Any] | None = None
    slow_intake_seconds = 0.0

    async def begin_seeds(self) -> None:
        """Begin without seeds, and start the intake."""
        starts, self.web.starts = self.web.starts, ()
        await self.begin()
        self.web.starts = starts
        self.start_intake()

    def start_intake(self) -> None:
        loop = self._loop(SEEDS_GROUP, (Subscription(SEEDS_SUBMITTED, self._take_in),), sharded=False)
        self.intake = self.pipeline.spawn(loop.run())

    async def kill_intake(self) -> None:
        """End it between its links and its offsets, as likely as anywhere else."""
        assert self.intake is not None
        self.intake.cancel()
        await asyncio.gather(self.intake, return_exceptions=True)

    async def _take_in(self, seed: SeedSubmitted, record: Record) -> Effects:
        await asyncio.sleep(self.chance.uniform(0, self.slow_intake_seconds))
        place = 1_000 * (record.partition + 1) + record.offset
        await self.pipeline.discover([seed.url], via="seed", offset=place)
        await asyncio.sleep(self.chance.uniform(0, self.slow_intake_seconds))
        return NO_EFFECTS

    async def send_seeds(self, *urls: str) -> None:
        await self.pipeline.publisher.publish(
            [Publish(SEEDS_SUBMITTED, SeedSubmitted(url, execution_id="run")) for url in urls]
        )

    async def command(self, what: str) -> None:
        at_ms = round(self.clock.now().timestamp() * 1000)
        about = {"job_id": "", "execution_id": "run"} if what == "close" else {}
        await self.pipeline.publisher.publish([Publish(JOB_COMMANDS, a_command(what, at_ms=at_ms, **about))])

    def ends(self) -> list[JobEvent]:
        return [each for each in self.published(JOB_EVENTS) if each.what == "run_completed"]

    async def until_ended(self, *, seconds: float = END_SECONDS) -> JobEvent:
        ends_at = self.clock.monotonic() + seconds
        while not self.ends():
            self.pipeline.check()
            assert self.clock.monotonic() < ends_at, "the run never ended"
            await asyncio.sleep(0.5)
        return self.ends()[0]

    async def check_ended(self) -> JobEvent:
        """Nothing happens after the end, and there is one; its counts are those of the log."""
        requests = len(self.web.log)
        await asyncio.sleep(150)
        (end,) = self.ends()
        assert len(self.web.log) == requests
        entries = self.last_records()
        assert {entry.state for entry in entries} <= {"completed", "failed"}
        outcomes = Counter(entry.reason for entry in entries)
        assert {name: end.counts[name] for name in outcomes} == dict(outcomes)
        assert end.counts["accepted"] >= len(entries)
        assert end.bytes == sum(entry.body_bytes for entry in entries)
        return end

    def last_records(self) -> list[EntryRecorded]:
        return list({entry.url_key: entry for entry in self.published(FRONTIER)}.values())


async def kill_schedulers(world: EndingWorld, chance: random.Random) -> None:
    """Run two schedulers, and kill one or both again and again; sometimes the working set is lost."""
    alive = [world.start(), world.start()]
    while True:
        await asyncio.sleep(chance.uniform(2, 45))
        await alive.pop(chance.randrange(len(alive))).kill()
        if chance.random() < 0.3:
            for each in alive:
                await each.kill()
            alive.clear()
            if chance.random() < 0.5:
                world.lose_frontier()
        while len(alive) < 2:
            alive.append(world.start())


async def kill_intake(world: EndingWorld, chance: random.Random) -> None:
    while True:
        await asyncio.sleep(chance.uniform(0.5, 8))
        await world.kill_intake()
        world.start_intake()


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed >= 3 else []) for seed in range(300)]
)
@pytest.mark.fault("F1", part="schedulers and link-ingestion while a run ends, simulated")
def test_a_closed_run_ends_once_whatever_is_killed(seed: int) -> None:
    async def scenario() -> EndingWorld:
        chance = random.Random(seed)
        world = EndingWorld(a_web(seed + 300, hosts=4, pages=6), seed=seed)
        world.slow_intake_seconds = chance.choice([0.0, 0.5, 4.0])
        await world.begin_seeds()
        killing = [
            world.pipeline.spawn(kill_schedulers(world, chance)),
            world.pipeline.spawn(kill_intake(world, chance)),
        ]
        for url in world.web.starts:
            await asyncio.sleep(chance.choice([0.0, 0.0, 5.0, 40.0]))
            await world.send_seeds(url)
        await world.command("close")
        await world.until_ended()
        check_visits(world, spare=1_000)
        await world.check_ended()
        for task in killing:
            task.cancel()
        return world

    world = simulate(scenario())
    check_politeness(world.web)
    assert "execution_over" not in world.reasons().values()
