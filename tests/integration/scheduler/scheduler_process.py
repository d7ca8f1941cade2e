"""The scheduler as a process on a real broker and a real Valkey, with a simulated web."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, FetchRequested, UrlsDecided
from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    FETCH_REQUESTS,
    FRONTIER,
    JOB_EVENTS,
    SCHEDULER_DLQ,
    TOPICS,
    URLS_DECIDED,
)
from strider.frontier.redis.lease_marks import RedisLeaseMarks
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.effects import Effects, Publish, Subscription
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import GroupSpec, Record, TopicPartition
from strider.messaging.topics import apply_topics
from strider.runtime.clocks import SeededRandomness, SystemClock
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.consumer.spec import ConsumerPorts
from strider.runtime.publishing.dead_letters import DeadLetterOrigin, DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler import log_events
from strider.storage.redis import RedisOptions, connect
from tests.unit.scheduler.simulation.pipeline import SimulatedPipeline
from tests.unit.scheduler.simulation.web import Web, a_web

DELAY_SECONDS = 0.3
SHARDS = 12
DEADLINE_SECONDS = 240.0


class SchedulerProcess:
    """One scheduler process."""

    def __init__(self, bootstrap: str, redis_url: str, log: Path, **settings: str) -> None:
        self.log = log
        kept = ("STRIDER_", "SCHEDULER_", "KAFKA_", "REDIS_")
        variables = {name: value for name, value in os.environ.items() if not name.startswith(kept)}
        variables |= {
            "KAFKA_BOOTSTRAP_SERVERS": bootstrap,
            "KAFKA_SESSION_TIMEOUT": "6s",
            "REDIS_URL": redis_url,
            "STRIDER_SHARDS": str(SHARDS),
            "SCHEDULER_LEASE_SECONDS": "5",
            # Failing pages follow each other, and a tripped breaker would take a minute.
            "SCHEDULER_BREAKER_FAILURES": "0",
            "SCHEDULER_BREAKER_REFUSALS": "0",
            **settings,
        }
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "strider.scheduler"],
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )

    def log_lines(self, event: str) -> list[dict[str, Any]]:
        lines = (json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{"))
        return [line for line in lines if line["event"] == event]

    def shards_taken(self) -> int:
        """Count the shards that the process took over, with a working set that was intact or not."""
        events = (log_events.SHARD_TAKEN_OVER, log_events.SHARD_REBUILT)
        return sum(len(self.log_lines(event.text)) for event in events)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self, number: signal.Signals) -> int:
        self._process.send_signal(number)
        return self._process.wait(60)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


class CrawlOnServers:
    """Real servers, one job on them, and the simulated pipeline of that job."""

    def __init__(self, bootstrap: str, redis_url: str, *, seed: int) -> None:
        self.name = uuid.uuid4().hex[:8]
        self.bootstrap, self.redis_url = bootstrap, redis_url
        self.clock = SystemClock()
        self.codec = Codec(SchemaStore.bundled())
        self.connection = KafkaConnection(bootstrap_servers=(bootstrap,))
        self.bus = KafkaBus(self.connection)
        self.redis = connect(RedisOptions(redis_url))
        self.web: Web = a_web(seed, pages=8, name=f"{self.name}.test")
        self.spec = CrawlSpecDeclared(
            crawl_spec_id=f"spec-{self.name}",
            scope="any",
            max_depth=100,
            delay_seconds=DELAY_SECONDS,
            host_patience_seconds=12,  # longer than the seven seconds that its hosts back off
            request_timeout_seconds=3.0,
        )
        self.pipeline = SimulatedPipeline(
            self.web,
            self._schema_publisher("ring"),
            self.clock,
            RedisLeaseMarks(self.redis),
            seed=seed,
            shards=SHARDS,
            time_factor=0.1,
            link_fields={
                "from_job_ids": (self.name,),
                "from_execution_ids": (f"run-{self.name}",),
                "from_crawl_spec_ids": (self.spec.crawl_spec_id,),
            },
        )
        self._loop: ConsumerLoop | None = None
        self._task: asyncio.Task[None] | None = None

    def _schema_publisher(self, service: str) -> EventPublisher:
        return EventPublisher(self.bus, self.codec, service=service, shards=SHARDS, clock=self.clock)

    async def begin(self) -> None:
        """Create the topics, start the fetcher, submit the start URLs."""
        wanted = [topic for topic in TOPICS.values() if topic.profile == "core"]
        await apply_topics(self.connection, wanted, shards=SHARDS)
        await self.pipeline.publisher.publish([Publish(CRAWL_SPECS, self.spec)])
        letters = DeadLetterWriter(SCHEDULER_DLQ, DeadLetterOrigin("fetcher", "fetcher"), clock=self.clock)
        ports = ConsumerPorts(
            clock=self.clock,
            chance=SeededRandomness(1),
            publisher=self.pipeline.publisher,
            dead_letters=letters,
        )
        self._loop = ConsumerLoop(
            self.bus,
            self.codec,
            (Subscription(FETCH_REQUESTS, self._fetch),),
            GroupSpec("fetcher", (FETCH_REQUESTS.name,), session_timeout_seconds=10),
            ports=ports,
        )
        self._task = self.pipeline.spawn(self._loop.run())
        for url in self.web.starts:
            await self.pipeline.submit(url)

    async def _fetch(self, request: FetchRequested, record: Record) -> Effects:
        """Fetch the pages of this job; entries that an earlier test left open may be released again, too."""
        if urlsplit(request.url).hostname not in self.web.hosts:
            return Effects(outcome="of_another_job")
        return await self.pipeline.fetch(request, record)

    async def close(self) -> None:
        if self._loop is not None and self._task is not None:
            self._loop.request_stop()
            await self._task
        for task in self.pipeline.running:
            task.cancel()
        await asyncio.gather(*self.pipeline.running, return_exceptions=True)
        await self.pipeline.publisher.close()
        await self.bus.close()
        await self.redis.close()

    async def entries(self) -> list[EntryRecorded]:
        """Return the records of this job in the log."""
        table = await self._read(FRONTIER)
        return [entry for entry in table if entry.job_id == self.name]

    async def reasons(self) -> dict[str, str]:
        events: list[UrlsDecided] = await self.events(URLS_DECIDED)
        return {
            url: reason for event in events for url, reason in zip(event.urls, event.reasons, strict=True)
        }

    async def events(self, topic: Any) -> list[Any]:
        """Return every event of a topic."""
        return await self._read(topic, every=True)

    async def _read(self, topic: Any, *, every: bool = False) -> list[Any]:
        values: dict[Any, bytes] = {}

        def keep(key: bytes | None, value: bytes | None) -> None:
            if value is not None:
                values[len(values) if every else key] = value

        where = [TopicPartition(topic.name, number) for number in range(topic.partitions or SHARDS)]
        await CompactedTableReader(self.bus, clock=self.clock).read(where, keep)
        return [self.codec.decode(topic, value) for value in values.values()]

    async def until_closed(self) -> list[EntryRecorded]:
        """Wait until all expected entries are in the log and closed."""
        wanted, denied = self.web.expected()

        async def is_closed() -> list[EntryRecorded]:
            entries = await self.entries()
            known = {entry.url for entry in entries}
            is_over = all(entry.closed_at_ms for entry in entries)
            return entries if is_over and set(wanted) | denied <= known else []

        return await self.until(is_closed)

    async def until(self, question: Callable[[], Any]) -> Any:
        deadline = self.clock.monotonic() + DEADLINE_SECONDS
        while not (answer := await question()):
            self.pipeline.check()
            if self.clock.monotonic() > deadline:
                raise AssertionError(f"not within {DEADLINE_SECONDS:g} s; {await self._describe()}")
            await asyncio.sleep(0.3)
        return answer

    async def _describe(self) -> str:
        """Return what is open and who holds the budget, for the failure of a test."""
        entries = await self.entries()
        is_open = [
            f"{entry.url} {entry.state} tries={entry.tries} sequence={entry.fetch_sequence}"
            for entry in entries
            if not entry.closed_at_ms
        ]
        claims = {
            each.shard: f"{each.what} pages={each.pages} bytes={each.bytes} {each.counts}"
            for each in await self.events(JOB_EVENTS)
            if each.execution_id.endswith(self.name) and each.counts
        }
        running = len(self.pipeline.running)
        return f"visits={len(self.web.log)} tasks={running} entries={len(entries)} open={is_open} {claims=}"
