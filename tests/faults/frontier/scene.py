"""Crawls of generated sites, with Redis behind a wire: what is done to it, and what the sites saw of that.

The sites' own logs are the witness, besides the truth in the log. The services are real processes; what
they share outlives a test, since starting them costs more than what is tested.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from confluent_kafka import Producer

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, FetchCompleted
from strider.contracts.generated.topics import CRAWL_SPECS, FETCHES_COMPLETED, FRONTIER
from strider.contracts.specs.crawl_specs import spec_id
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.runtime.clocks import SystemClock
from strider.storage.redis import RedisOptions, connect
from strider.testing.faulty_tcp_proxy import ThreadedFaultyTcpProxy
from strider.testing.owner import OWNER_SETTINGS, owner_headers
from strider.testing.site import ServedSite
from strider.testing.stack import RunningServer
from tests.e2e.checks import LATE_SECONDS, asked_too_often
from tests.figures import record_figure
from tests.processes.broker import Broker
from tests.processes.services import Service, Yard
from tests.processes.waiting import until

SHARDS = 12
DELAY_SECONDS = 1.0
CONNECT_SECONDS = 2.0
"""How long after its mark a request may still begin."""
START_SECONDS = 180.0
"""For several interpreters on a busy machine."""
CRAWL_SECONDS = 240.0
ANSWER_SECONDS = 0.8
"""How long an answer takes: nearly the delay, so that a host has an open request most of the time."""
FRESH_SECONDS = 0.3
"""A request that came so long ago is open for as long again, when something is done to Redis."""
SERVICES = ("link-ingestion", "scheduler", "fetcher", "parser", "validator")
"""What a page goes through until it is settled."""
SPEC = CrawlSpecDeclared("", scope="any", max_depth=10, request_timeout_seconds=3.0)
"""After a rebuild hosts are left alone for as long as a request may take, and a margin: it is short here."""


class Frontier:
    """The services, their servers, and the wire between scheduler, fetcher, link-ingestion and Redis."""

    def __init__(
        self, bootstrap: str, valkey: RunningServer, wire: ThreadedFaultyTcpProxy, directory: Path
    ) -> None:
        self.bootstrap = bootstrap
        self.valkey = valkey
        self.wire = wire
        self.services: dict[str, Service] = {}
        self._yard = Yard(bootstrap, directory, shards=SHARDS)
        self._settings = {
            "REDIS_URL": f"redis://127.0.0.1:{wire.port}/0",
            "OBJECT_STORE_URL": (directory / "objects").as_uri(),
            "STRIDER_ALLOW_PRIVATE": "true",
            "STRIDER_HOST_DELAY": f"{DELAY_SECONDS:g}",
            **OWNER_SETTINGS,
        }

    @property
    def data(self) -> Path:
        """Where Valkey keeps its log of commands."""
        return self.valkey.log.parent / "appendonlydir"

    def start(self, name: str) -> Service:
        """Start one service."""
        program = ("-m", f"strider.{name.replace('-', '_')}")
        self.services[name] = self._yard.start(program, self._settings)
        return self.services[name]

    async def start_all(self) -> None:
        """Start every service, and wait until all are ready."""
        for name in SERVICES:
            self.start(name)
        for service in self.services.values():
            await until(
                service.is_ready, what=f"{service.name} is ready", tell=self.tell, seconds=START_SECONDS
            )

    def close(self) -> None:
        """End them all."""
        self._yard.close()

    def tell(self) -> str:
        """What every service said last."""
        return "\n".join(service.last_words() for service in self.services.values())

    async def command(self, *words: str | int) -> Any:
        """Send Valkey a command, past the wire."""
        redis = connect(RedisOptions(self.valkey.address, timeout_seconds=10))
        try:
            return await redis.command(*words)
        finally:
            await redis.close()

    def declare(self) -> str:
        """Declare the crawl spec of all crawls here; returns its name."""
        named = replace(SPEC, crawl_spec_id=spec_id(SPEC))
        value = Codec(SchemaStore.bundled()).encode(CRAWL_SPECS, named).value
        self._produce(CRAWL_SPECS.name, value, key=CRAWL_SPECS.key_of(named))
        return named.crawl_spec_id

    def sow(self, site: ServedSite, job_id: str) -> None:
        """Send the site's seed as an owner's client would."""
        seed = {"url": site.plan.seeds[0], "job_id": job_id, "crawl_spec_id": self.declare()}
        value = json.dumps(seed).encode()
        self._produce("seeds-submitted", value, headers=owner_headers(value))

    async def entries(self, job_id: str) -> list[EntryRecorded]:
        """Read what the log says of a job's entries."""
        last: dict[bytes | None, bytes] = {}

        def keep(key: bytes | None, value: bytes | None) -> None:
            if value is not None and (key or b"").startswith(job_id.encode()):
                last[key] = value

        bus = KafkaBus(KafkaConnection(bootstrap_servers=(self.bootstrap,)))
        try:
            where = [TopicPartition(FRONTIER.name, number) for number in range(SHARDS)]
            await CompactedTableReader(bus, clock=SystemClock()).read(where, keep)
        finally:
            await bus.close()
        codec = Codec(SchemaStore.bundled())
        return [codec.decode(FRONTIER, value) for value in last.values()]

    async def outcomes(self, *, once: Callable[[], Awaitable[object]] | None = None) -> int:
        """Count all outcomes of requests that were ever told, at once when something has come true."""
        broker = Broker(self.bootstrap, shards=SHARDS)
        await broker.open(FETCHES_COMPLETED)
        try:
            if once is not None:
                await once()
            return sum((await broker.ends(FETCHES_COMPLETED)).values())
        finally:
            await broker.close()

    async def told(self) -> list[FetchCompleted]:
        """Read all outcomes of requests that were ever told."""
        broker = Broker(self.bootstrap, shards=SHARDS)
        await broker.open(FETCHES_COMPLETED)
        try:
            records = await broker.read(FETCHES_COMPLETED, dict.fromkeys(range(SHARDS), 0))
            return broker.decode(FETCHES_COMPLETED, records)
        finally:
            await broker.close()

    def _produce(
        self, topic: str, value: bytes, *, key: bytes | None = None, headers: Iterable[tuple[str, bytes]] = ()
    ) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap})
        producer.produce(topic, value=value, key=key, headers=list(headers))
        assert producer.flush(30) == 0


@dataclass(frozen=True, slots=True)
class Blow:
    """How things stood when something was done."""

    at: float
    told: int
    """Requests of this crawl whose outcome was published by then."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a crawl came to, by the sites' log and the truth."""

    lost: tuple[str, ...]
    duplicates: tuple[str, ...]
    """URLs that have more than one entry."""
    hasty: Mapping[str, float]
    """Hosts that were asked sooner than after the delay."""
    overlaps: int
    refetched: Counter[str]
    in_flight: int
    """Requests begun before a fault whose outcome was not published by then, over all faults."""
    unanswered: int
    """Those of them that a site was still answering."""
    astray: tuple[str, ...]
    """URLs that robots.txt forbids."""


class Crawl:
    """One crawl of one site."""

    def __init__(self, frontier: Frontier, site: ServedSite, job_id: str) -> None:
        self.frontier = frontier
        self.site = site
        self.job_id = job_id
        self.blows: list[Blow] = []
        self._told_before = 0
        self._began = time.monotonic()

    async def begin(self) -> None:
        """Send the seed, and wait until the crawl is under way on every host."""
        self._told_before = await self.frontier.outcomes()
        self.frontier.sow(self.site, self.job_id)
        hosts = len(self.site.plan.origins)
        await self._until(lambda: len(self.site.requests_by_host()) == hosts, what="every host was asked")
        await self.until_asked(more=hosts)

    async def blow(self, *, instead: bool = False) -> None:
        """Note how things stand when a request is open, as the site sees it; or not then, but now."""

        async def open_request() -> None:
            await self._until(self._has_fresh_request, what="a request is open")

        told = await self.frontier.outcomes(once=open_request) - self._told_before
        if instead:
            self.blows.pop()
        self.blows.append(Blow(time.monotonic(), told))

    def _has_fresh_request(self) -> bool:
        return any(time.monotonic() - since < FRESH_SECONDS for since in self.site.unanswered().values())

    async def until_asked(self, *, more: int) -> None:
        """Wait until the site was asked for more."""
        before = len(self.site.access_log())
        await self._until(lambda: len(self.site.access_log()) >= before + more, what=f"{more} more requests")

    async def until_over(self) -> float:
        """Wait until everything was asked for, and the truth says that nothing is open."""
        await self._until(lambda: not self._missing(), what="every URL was asked for")

        async def is_closed() -> bool:
            await asyncio.sleep(0.5)
            entries = await self.frontier.entries(self.job_id)
            return {each.url for each in entries} >= self.site.plan.pages and all(
                each.closed_at_ms for each in entries
            )

        return await self._until(is_closed, what="every entry is closed")

    async def findings(self) -> Findings:
        """Account for the crawl."""
        entries = Counter(entry.url for entry in await self.frontier.entries(self.job_id))
        least = DELAY_SECONDS - LATE_SECONDS
        lines = self.site.access_log()
        in_flight = [sum(line.started < blow.at for line in lines) - blow.told for blow in self.blows]
        return Findings(
            lost=tuple(sorted(self._missing())),
            duplicates=tuple(url for url, count in entries.items() if count > 1),
            hasty={host: gap for host, gap in self.site.shortest_intervals().items() if gap < least},
            overlaps=len(self.site.overlapping_requests()),
            refetched=asked_too_often(self.site),
            in_flight=sum(max(0, count) for count in in_flight),
            unanswered=sum(line.started < blow.at < line.ended for line in lines for blow in self.blows),
            astray=tuple(set(self.site.request_counts()) - self.site.plan.requests.keys()),
        )

    def begun_between(self, first: float, last: float) -> list[str]:
        """Which requests began within a span of time."""
        return [line.url for line in self.site.access_log() if first < line.earliest and line.started < last]

    def tell(self, name: str, findings: Findings) -> None:
        """Record one line of what was found."""
        impolite = len(findings.hasty) + findings.overlaps
        record_figure(
            f"{name}: blows={len(self.blows)} lost={len(findings.lost)}"
            f" duplicates={len(findings.duplicates)} politeness-violations={impolite}"
            f" refetched={findings.refetched.total()} in-flight={findings.in_flight}"
            f" unanswered={findings.unanswered} took={time.monotonic() - self._began:.1f}s"
        )

    async def story(self, hosts: Iterable[str]) -> str:
        """Return what hosts saw, and what was published about it, in seconds of this crawl."""
        wanted = set(hosts)
        wall = time.time() - time.monotonic() + self._began
        lines = [(blow.at - self._began, "blow") for blow in self.blows]
        for line in self.site.access_log():
            if line.host in wanted:
                late, took = line.started - line.earliest, line.ended - line.started
                lines.append((line.started - self._began, f"saw {line.url} for {took:.3f}, late {late:.3f}"))
        for each in await self.frontier.told():
            if urlsplit(each.url).netloc in wanted:
                marked = each.marked_at_us / 1e6 - wall
                what = f"{each.outcome} of {each.url}, marked at {marked:.3f}"
                lines.append((each.started_at_us / 1e6 - wall, what))
        return "\n".join(["", *(f"{at:8.3f} {what}" for at, what in sorted(lines))])

    def _missing(self) -> set[str]:
        return self.site.plan.requests.keys() - set(self.site.request_counts())

    async def _until(self, condition: Any, *, what: str) -> float:
        return await until(
            condition,
            what=f"{self.job_id}: {what}",
            tell=lambda: f"missing: {sorted(self._missing())}\n{self.frontier.tell()}",
            seconds=CRAWL_SECONDS,
        )
