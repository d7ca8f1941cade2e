"""Jobs in virtual time: real schedulers and a real intake of seeds, PostgreSQL in memory."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from strider.contracts.generated.events import AdaptiveRecorded, JobEvent, SeedSubmitted, SourceSaved
from strider.contracts.generated.topics import JOB_EVENTS, SEEDS_OWNED, SOURCES
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.jobs.ports import JobStore
from strider.link_ingestion.options import IngestionPolicy
from strider.link_ingestion.topology import OWNED_SEEDS_GROUP, SeedIngestion
from strider.messaging.effects import Publish, PublishRaw, PublishRequest
from strider.messaging.inprocess import InProcessBus
from strider.messaging.ports import Header
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.observability.metrics import Metrics
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler.adapters.jobs.adaptive_states import TopicAdaptiveStates
from strider.scheduler.adapters.jobs.metrics import JobMetrics
from strider.scheduler.adapters.jobs.run_publisher import RunPublisher
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import JobPorts
from strider.testing.owner import OWNER_KEY
from tests.unit.scheduler.simulation.pipeline import SHARDS
from tests.unit.scheduler.simulation.web import Host, Page, Web
from tests.unit.scheduler.simulation.world import SchedulerInstance, SimulatedWorld

from .memory_store import MemoryJobStore, StopPoint, StoreConnection


class LostMessages:
    """Messages of launches that are acknowledged, and deleted before they are read."""

    def __init__(self) -> None:
        self.closings = 0
        """Closing messages that are still to be lost."""
        self.seeds = 0
        """Seeds that are still to be lost."""

    def takes(self, request: PublishRequest) -> bool:
        """Whether a message is lost."""
        event = request.event if isinstance(request, Publish) else None
        if not isinstance(event, SeedSubmitted):
            return False
        if event.close and self.closings:
            self.closings -= 1
            return True
        if not event.close and self.seeds:
            self.seeds -= 1
            return True
        return False


class StoppingPublisher(EventPublisher):
    """Publishes a batch in two halves, and may be stopped before, between and after them."""

    def __init__(self, *args: Any, stop: StopPoint, lost: LostMessages, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._stop = stop
        self._lost = lost

    async def publish(
        self, requests: Sequence[PublishRequest], *, cause: str = "", headers: tuple[Header, ...] = ()
    ) -> None:
        await self._stop.step()
        requests = [each for each in requests if not self._lost.takes(each)]
        half = (len(requests) + 1) // 2
        await super().publish(requests[:half], cause=cause, headers=headers)
        await self._stop.step()
        await super().publish(requests[half:], cause=cause, headers=headers)
        await self._stop.step()


class MemoryCopies:
    """Redis' copies of the states of sources."""

    def __init__(self) -> None:
        self.states: dict[str, AdaptiveRecorded] = {}
        self.markers: dict[int, int] = {}

    def wipe(self) -> None:
        self.states.clear()
        self.markers.clear()

    async def write(self, state: AdaptiveRecorded) -> None:
        self.states[state.source_id] = state

    async def delete(self, source_id: str) -> None:
        self.states.pop(source_id, None)

    async def missing(self, source_ids: Sequence[str]) -> Sequence[str]:
        return [each for each in source_ids if each not in self.states]

    async def are_complete(self, shard: int, epoch: int) -> bool:
        return self.markers.get(shard) == epoch

    async def write_all(self, shard: int, epoch: int, states: Iterable[AdaptiveRecorded]) -> None:
        for state in states:
            await self.write(state)
        self.markers[shard] = epoch


def a_site(*names: str, pages: int = 3, **changes: Any) -> Web:
    """Return hosts with some pages each; the first one links to the others."""
    hosts = {name: Host(name) for name in names}
    found: dict[str, Page] = {}
    for name in names:
        urls = [f"http://{name}/{number}" for number in range(1, pages)]
        found |= {url: Page(url) for url in urls}
        found[f"http://{name}/"] = Page(f"http://{name}/", links=tuple(urls))
    for name, change in changes.items():
        found[name] = replace(found[name], **change)
    return Web(hosts, found, ())


class JobWorld(SimulatedWorld):
    """A crawl of jobs."""

    def __init__(self, web: Web, *, seed: int = 1, **options: Any) -> None:
        settings = {"shards": SHARDS, "user_agent": "Strider/1", "lease_seconds": 30, **options}
        super().__init__(web, seed=seed, options=SchedulerOptions(**settings))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.store = MemoryJobStore(self.clock)
        self.copies = MemoryCopies()
        self.lost = LostMessages()
        self.intake_key = OWNER_KEY
        """Owner key of link-ingestion."""
        self.may_take_seeds = asyncio.Event()
        """Until it is set, link-ingestion does not run."""
        self.may_take_seeds.set()
        self.stop = StopPoint()
        """Of the next scheduler to start."""
        self.metrics = Metrics()
        """Of the last scheduler that was started."""

    async def begin(self) -> None:
        await super().begin()
        policy = IngestionPolicy(SHARDS, owner_key=self.intake_key)
        specs = CrawlSpecCache(self.bus, self.codec, clock=self.clock)
        seeds = SeedIngestion(specs, policy=policy, clock=self.clock)
        loop = self._loop(OWNED_SEEDS_GROUP, seeds.owned_subscriptions(), sharded=False)
        self.pipeline.spawn(self._run_intake(loop))

    async def _run_intake(self, loop: ConsumerLoop) -> None:
        await self.may_take_seeds.wait()
        await loop.run()

    def new_job_ports(self, bus: InProcessBus) -> JobPorts | None:
        stop, self.stop = self.stop, StopPoint()
        publisher = StoppingPublisher(
            bus,
            self.codec,
            service="scheduler",
            shards=SHARDS,
            clock=self.clock,
            stop=stop,
            lost=self.lost,
        )
        specs = CrawlSpecCache(bus, self.codec, clock=self.clock)
        self.metrics = Metrics()
        return JobPorts(
            store=cast("JobStore", StoreConnection(self.store, stop)),
            runs=RunPublisher(publisher, self.codec, specs, owner_key=OWNER_KEY),
            adaptive_states=TopicAdaptiveStates(bus, self.codec, clock=self.clock),
            adaptive_copies=self.copies,
            meter=JobMetrics(self.metrics),
        )

    async def save_source(self, name: str, *start_urls: str, **changes: Any) -> None:
        first, *others = start_urls or (f"http://{name}/",)
        saved = SourceSaved(name, name, first, start_urls=tuple(others), **changes)
        await self.pipeline.publisher.publish([Publish(SOURCES, saved)])

    async def remove_source(self, name: str) -> None:
        await self.pipeline.publisher.publish([PublishRaw(SOURCES, name.encode(), None)])

    async def adaptive_states(self) -> dict[str, AdaptiveRecorded]:
        """Return the states of all sources that a new reader of the topic has."""
        reader = TopicAdaptiveStates(self.bus, self.codec, clock=self.clock)
        found: dict[str, AdaptiveRecorded] = {}
        for shard in range(SHARDS):
            for name, value in (await reader.read_states(shard)).items():
                state = reader.decode_state(value)
                assert state is not None
                found[name] = state
        return found

    async def add_job(self, job_id: str, *start_urls: str, **changes: Any) -> None:
        """Save a source of the same name, and a job of it that is due."""
        urls = start_urls or (f"http://{job_id}/",)
        await self.save_source(job_id, *urls)
        self.store.add(job_id=job_id, source_id=job_id, url=urls[0], **changes)

    async def until(self, condition: Callable[[], Any], *, seconds: float = 3_000) -> None:
        ends_at = self.clock.monotonic() + seconds
        while not condition():
            self.pipeline.check()
            assert self.clock.monotonic() < ends_at, "the condition never held"
            await asyncio.sleep(0.25)

    async def until_finished(self, *names: str, seconds: float = 3_000) -> None:
        """Wait until these executions have ended."""

        def is_finished() -> bool:
            found = [self.store.executions.get(name) for name in names]
            return all(each is not None and each.completed_at_ms is not None for each in found)

        await self.until(is_finished, seconds=seconds)

    def fetches(self) -> Counter[str]:
        """Return how often each page was fetched."""
        return Counter(each.url for each in self.web.log if not each.url.endswith("/robots.txt"))

    def ends(self) -> list[JobEvent]:
        return [each for each in self.published(JOB_EVENTS) if each.what == "run_completed"]

    def seeds(self) -> list[Any]:
        return [each for each in self.published(SEEDS_OWNED) if not each.close]


async def stop_all(*instances: SchedulerInstance) -> None:
    """Stop schedulers; the first failure of any is raised."""
    for instance in instances:
        await instance.stop()
