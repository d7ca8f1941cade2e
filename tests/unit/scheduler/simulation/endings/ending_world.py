"""A crawl whose runs end, with a killable intake; what may be killed in it, and a run with all of that."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any, NamedTuple

from strider.contracts.generated.events import EntryRecorded, JobEvent, SeedSubmitted
from strider.contracts.generated.topics import FRONTIER, JOB_COMMANDS, JOB_EVENTS, SEEDS_SUBMITTED
from strider.messaging.effects import NO_EFFECTS, Effects, Publish, Subscription
from strider.messaging.inprocess import simulate
from strider.messaging.ports import Record
from strider.scheduler.core.entries.state import is_forgotten
from tests.unit.scheduler.simulation.checks import check_politeness, check_visits
from tests.unit.scheduler.simulation.commands import a_command
from tests.unit.scheduler.simulation.web import Host, Page, Web, a_web
from tests.unit.scheduler.simulation.world import SEEDS_GROUP, SchedulerInstance, SimulatedWorld

END_SECONDS = 3_000
SITE = "www.site.test"


class EndingWorld(SimulatedWorld):
    """A crawl whose seeds come by their topic, with an intake that is killed and repeats."""

    chance: Any
    intake: asyncio.Task[Any] | None = None
    running: SchedulerInstance | None = None
    slow_intake_seconds = 0.0
    kills = 0
    """Schedulers and intakes that were killed."""

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
        self.kills += 1
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
        assert start_pages_listed(end) == sorted(
            (entry.url_key, entry.raw_hash, "t")
            for entry in entries
            if entry.seed_token and entry.reason in {"settled", "not_modified", "rejected"}
        )
        return end

    def last_records(self) -> list[EntryRecorded]:
        return list({entry.url_key: entry for entry in self.published(FRONTIER)}.values())


def start_pages_listed(end: JobEvent) -> list[tuple[str, str, str]]:
    assert end.start_pages == len(end.start_url_keys)
    return list(zip(end.start_url_keys, end.start_raw_hashes, end.start_text_hashes, strict=True))


def a_site(*pages: Page, robots: str = "fine") -> Web:
    home = Page(f"http://{SITE}/", links=tuple(page.url for page in pages))
    return Web({SITE: Host(SITE, robots)}, {home.url: home} | {page.url: page for page in pages}, (home.url,))


def numbered(count: int) -> list[Page]:
    return [Page(f"http://{SITE}/{number}") for number in range(count)]


async def kill_schedulers(world: EndingWorld, chance: random.Random) -> None:
    """Run two schedulers, and kill one or both again and again; sometimes the working set is lost."""
    alive = [world.start(), world.start()]
    while True:
        await asyncio.sleep(chance.uniform(2, 45))
        leaving = alive.pop(chance.randrange(len(alive)))
        if chance.random() < 0.2:
            await leaving.stop()  # a rebalance alone
        else:
            world.kills += 1
            await leaving.kill()
        if chance.random() < 0.3:
            for each in alive:
                world.kills += 1
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


class EndedRun(NamedTuple):
    """What came of a run in which everything was killed."""

    ends: int
    requests_after_the_end: int
    open_at_the_end: int
    kills: int


def end_among_kills(seed: int) -> EndedRun:
    """Run a crawl to its end, with kills of schedulers and of the intake, rebalances, and repeats of pages.

    Every page was fetched, politely, and no known link was refused because its run was over.
    """

    async def scenario() -> tuple[EndingWorld, EndedRun]:
        chance = random.Random(seed)
        world = EndingWorld(a_web(seed + 300, hosts=4, pages=6), seed=seed)
        world.slow_intake_seconds = chance.choice([0.0, 0.5, 4.0])
        world.pipeline.repeated_settlements = chance.choice([0.0, 0.1])
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
        requests = len(world.web.log)
        still_open = sum(not entry.closed_at_ms for entry in world.last_records())
        check_visits(world, spare=1_000)
        await world.check_ended()
        for task in killing:
            task.cancel()
        return world, EndedRun(len(world.ends()), len(world.web.log) - requests, still_open, world.kills)

    world, ended = simulate(scenario())
    check_politeness(world.web)
    refused = {url for url, reason in world.reasons().items() if reason == "execution_over"}
    # A link to an entry that was closed untried counts as new where its page is read again.
    assert refused <= {entry.url for entry in world.last_records() if is_forgotten(entry)}
    return ended
