"""The whole ring on real servers, and what an outsider can see of it.

Seeds go in by a client that knows nothing of us; what came of them is read from the tables, from the
broker's offsets and from the servers' own counters. Only processes started here are ever signalled.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import asyncpg
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition
from confluent_kafka import Producer

from strider.contracts import TOPICS, Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.generated.topics import CRAWL_SPECS, FETCHES_COMPLETED
from strider.contracts.specs.crawl_specs import spec_id
from strider.messaging.kafka import KafkaConnection
from strider.messaging.topics import apply_topics
from strider.storage.migrations import upgrade
from strider.storage.redis import RedisOptions, connect
from strider.testing.callers import AUTH_SETTINGS
from strider.testing.kafka_cluster import KafkaCluster, start_cluster
from strider.testing.owner import OWNER_SETTINGS, owner_headers
from strider.testing.site import EXCLUDED, ServedSite
from strider.testing.stack import RunningServer, create_database, start_kafka, start_postgres, start_valkey
from strider.testing.temp_dirs import temp_server_directory
from tests.processes.services import Service, Yard
from tests.processes.waiting import until

SHARDS = 12
DELAY_SECONDS = 0.4
RINGS = ("link-ingestion", "scheduler", "fetcher", "parser", "validator", "indexer")
"""What a page goes through."""
SERVICES = (*RINGS, "api", "insights")
DECLARED = [topic for topic in TOPICS.values() if topic.profile != "example"]


@dataclass(frozen=True, slots=True)
class Servers:
    """One broker or a cluster of them, one database and one Valkey of our own."""

    kafka: RunningServer | KafkaCluster
    postgres: RunningServer
    redis: RunningServer
    dsn: str

    @classmethod
    def start(
        cls, place: Path, *, counts_statements: bool = True, starts_fast: bool = True, nodes: int = 1
    ) -> Servers:
        """Start them, with topics and tables. `starts_fast`: a broker for tests, not for measuring."""
        postgres, redis = start_postgres(place / "postgres"), start_valkey(place / "redis")
        kafka: RunningServer | KafkaCluster
        if nodes == 1:
            kafka = start_kafka(place / "kafka", starts_fast=starts_fast)
        else:
            kafka = start_cluster(place / "kafka", nodes=nodes)
        servers = cls(kafka, postgres, redis, create_database(postgres.address))
        asyncio.run(servers.prepare(counts_statements=counts_statements))
        return servers

    def close(self) -> None:
        """End them."""
        for part in (self.kafka, self.postgres, self.redis):
            part.close()

    async def prepare(self, *, counts_statements: bool) -> None:
        """Create topics and tables."""
        connection_to_kafka = KafkaConnection(tuple(self.kafka.address.split(",")))
        await apply_topics(connection_to_kafka, DECLARED, shards=SHARDS)
        await upgrade(self.dsn)
        if not counts_statements:
            return
        connection = await asyncpg.connect(self.dsn)
        # The server then writes down each statement, which is how they are counted.
        await connection.execute(f"ALTER DATABASE {self.dsn.rpartition('/')[2]} SET log_statement = 'all'")
        await connection.close()


@dataclass(frozen=True, slots=True)
class Effort:
    """What the servers were asked to do so far."""

    messages: int
    redis_calls: int
    statements: int

    def since(self, before: Effort) -> Effort:
        """Give what was added."""
        return Effort(
            self.messages - before.messages,
            self.redis_calls - before.redis_calls,
            self.statements - before.statements,
        )


class Ring:
    """Every service as a process of its own."""

    def __init__(
        self,
        servers: Servers,
        directory: Path,
        settings: Mapping[str, str] | None = None,
        *,
        names: Sequence[str] = SERVICES,
        login: Callable[[str], Mapping[str, str]] = lambda _name: {},
    ) -> None:
        """`login` gives the settings by which one service logs in to the broker."""
        self.servers = servers
        self.directory = directory
        """Logs of the services, and the object store."""
        self._names = names
        self._login = login
        self._yard = Yard(servers.kafka.address, directory, shards=SHARDS)
        self._settings = {
            "POSTGRES_DSN": servers.dsn,
            "REDIS_URL": servers.redis.address,
            "OBJECT_STORE_URL": (directory / "objects").as_uri(),
            "STRIDER_ALLOW_PRIVATE": "true",
            "STRIDER_HOST_DELAY": f"{DELAY_SECONDS:g}",
            "STRIDER_API_PORT": "0",
            **OWNER_SETTINGS,
            **AUTH_SETTINGS,
            **(settings or {}),
        }
        self.services: dict[str, Service] = {}
        self._events: dict[str, tuple[int, list[Any]]] = {}
        """What was read of topics, and up to where."""

    def start(self, name: str, settings: Mapping[str, str] | None = None) -> Service:
        """Start one service, with settings that it alone has."""
        program = ("-m", f"strider.{name.replace('-', '_')}")
        all_settings = {**self._settings, **self._login(name), **(settings or {})}
        self.services[name] = self._yard.start(program, all_settings)
        return self.services[name]

    async def start_all(self) -> None:
        """Start every service, and wait until all are ready."""
        for name in self._names:
            self.start(name)
        for service in self.services.values():
            await service.until_ready()

    def close(self) -> None:
        """End them all."""
        self._yard.close()

    def tell(self) -> str:
        """What every service said last."""
        return "\n".join(service.last_words() for service in self.services.values())

    def sow(self, site: ServedSite, *, is_owner: bool = True, **wishes: Any) -> None:
        """Send a seed as a foreign client would: JSON, any key, any partition; an owner signs it."""
        seed = {"url": site.plan.seeds[0], "scope": "any", "max_depth": 10, "exclude": [EXCLUDED], **wishes}
        value = json.dumps(seed).encode()
        self._produce("seeds-submitted", value, headers=owner_headers(value) if is_owner else [])

    def sow_documents(self, *documents: Mapping[str, Any]) -> None:
        """Send documents that their owner signs."""
        for value in (json.dumps(document).encode() for document in documents):
            self._produce("seeds-submitted", value, headers=owner_headers(value))

    def produce_seed(self, document: Mapping[str, Any]) -> None:
        """Send a document as a client without the owner's key does."""
        self.produce_bytes(json.dumps(document).encode())

    def produce_bytes(self, value: bytes) -> None:
        """Send what such a client has encoded."""
        self._produce("seeds-submitted", value)

    async def events(self, topic: Topic[Any]) -> list[Any]:
        """Read all events of a topic of one partition."""
        codec, place = Codec(SchemaStore.bundled()), TopicPartition(topic.name, 0)
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.servers.kafka.address, isolation_level="read_committed"
        )
        await consumer.start()
        try:
            consumer.assign([place])
            begin, known = self._events.get(topic.name, (0, []))
            consumer.seek(place, max(begin, (await consumer.beginning_offsets([place]))[place]))
            end = (await consumer.end_offsets([place]))[place]
            found = list(known)
            while await consumer.position(place) < end:
                for records in (await consumer.getmany(timeout_ms=500)).values():
                    found += [codec.decode(topic, record.value, record.headers) for record in records]
            self._events[topic.name] = await consumer.position(place), found
            return list(found)
        finally:
            await consumer.stop()

    def declare(self, spec: CrawlSpecDeclared) -> str:
        """Declare a crawl spec, for what a seed cannot say; returns its name."""
        named = replace(spec, crawl_spec_id=spec_id(spec))
        encoded = Codec(SchemaStore.bundled()).encode(CRAWL_SPECS, named)
        self._produce(CRAWL_SPECS.name, encoded.value, key=CRAWL_SPECS.key_of(named))
        return named.crawl_spec_id

    async def pages(self, job_id: str) -> list[asyncpg.Record]:
        """Read the rows of a job's pages."""
        return await self._select("SELECT * FROM crawled_pages WHERE job_id = $1", job_id)

    async def pages_of(self, job_id: str, urls: Sequence[str]) -> list[asyncpg.Record]:
        """Read the rows of some pages of a job."""
        return await self._select(
            "SELECT * FROM crawled_pages WHERE job_id = $1 AND url = ANY($2)", job_id, urls
        )

    async def decisions_about(self, url: str) -> list[asyncpg.Record]:
        """Read the decisions about one URL, of whatever job."""
        return await self._select("SELECT * FROM url_decisions WHERE url = $1", url)

    async def count_pages(self, job_id: str) -> int:
        """Count the rows of a job's pages."""
        (row,) = await self._select("SELECT count(*) FROM crawled_pages WHERE job_id = $1", job_id)
        return int(row[0])

    async def decisions(self, job_id: str) -> list[asyncpg.Record]:
        """Read what was decided about a job's URLs that are no pages."""
        return await self._select("SELECT * FROM url_decisions WHERE job_id = $1", job_id)

    async def urls(self, job_id: str) -> list[asyncpg.Record]:
        """Read where each of a job's URLs stands."""
        return await self._select("SELECT * FROM urls WHERE job_id = $1", job_id)

    async def until_told(self, site: ServedSite, job_id: str, *, seconds: float) -> float:
        """Wait until each URL of the site has its row, and nothing of it is under way any more."""
        missing: dict[str, list[str]] = {}

        async def is_told() -> bool:
            found = {row["url"] for row in await self.pages(job_id)}
            told = {row["url"] for row in await self.decisions(job_id)}
            missing.update(
                pages=sorted(site.plan.pages - found),
                decisions=sorted(site.plan.decided_without_page.keys() - told),
            )
            return not any(missing.values()) and await self.is_empty()

        return await until(
            is_told,
            what=f"{job_id} is told",
            tell=lambda: f"missing: {missing}\n{self.tell()}",
            seconds=seconds,
        )

    async def is_empty(self) -> bool:
        """Whether the frontier has nothing left to do."""
        names = ("strider_frontier_queued", "strider_frontier_leased", "strider_frontier_in_ring")
        return not sum([await self.services["scheduler"].metric(name) for name in names])

    async def until_asked(self, site: ServedSite, *, more: int, seconds: float) -> None:
        """Wait until the site is asked for more: the pipeline is at work."""
        before = len(site.access_log())
        await until(
            lambda: len(site.access_log()) >= before + more,
            what=f"{more} more requests",
            tell=self.tell,
            seconds=seconds,
        )

    async def outcomes(self) -> int:
        """Count all outcomes of requests that were ever told."""
        return await self._messages(FETCHES_COMPLETED)

    async def effort(self) -> Effort:
        """Ask the servers what they have done."""
        return Effort(await self._messages(*DECLARED), await self._redis_calls(), self._statements())

    def _produce(
        self, topic: str, value: bytes, *, key: bytes | None = None, headers: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        producer = Producer({"bootstrap.servers": self.servers.kafka.address})
        producer.produce(topic, value=value, key=key, headers=list(headers))
        assert producer.flush(30) == 0

    async def _messages(self, *topics: Topic[Any]) -> int:
        consumer = AIOKafkaConsumer(bootstrap_servers=self.servers.kafka.address)
        await consumer.start()
        try:
            places = [
                TopicPartition(topic.name, number)
                for topic in topics
                for number in range(topic.partitions or SHARDS)
            ]
            return sum((await consumer.end_offsets(places)).values())
        finally:
            await consumer.stop()

    async def _redis_calls(self) -> int:
        """Count scripts that were called: what is done within one counts as a command of its own there."""
        store = connect(RedisOptions(self.servers.redis.address))
        try:
            stats = await store.command("INFO", "commandstats")
        finally:
            await store.close()
        return sum(
            told["calls"]
            for name, told in stats.items()
            if name.startswith(("cmdstat_eval", "cmdstat_fcall"))
        )

    def _statements(self) -> int:
        log = self.servers.postgres.log.read_text(encoding="utf-8", errors="replace")
        ours = [line for line in log.splitlines() if "LOG:  execute " in line or "LOG:  statement: " in line]
        return sum(
            "crawled_pages WHERE job_id" not in line for line in ours if "url_decisions WHERE" not in line
        )

    async def _select(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        connection = await asyncpg.connect(self.servers.dsn)
        try:
            return await connection.fetch(statement, *arguments)
        finally:
            await connection.close()


@contextmanager
def running_ring(
    settings: Mapping[str, str] | None = None, *, counts_statements: bool = True, nodes: int = 1
) -> Iterator[Ring]:
    """Start servers and all services, and end them."""
    with temp_server_directory() as place:
        servers = Servers.start(place, counts_statements=counts_statements, nodes=nodes)
        (place / "logs").mkdir()
        ring = Ring(servers, place / "logs", settings)
        try:
            asyncio.run(ring.start_all())
            yield ring
        finally:
            ring.close()
            servers.close()
