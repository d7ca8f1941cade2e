"""Asks everybody who may know something of a URL: the tables, then the frontier's and the hosts' log.

Who does not answer is named, and costs nothing else: half a story is better than none. Of the log
only the partition that the URL's host is in is read, beside the dead letters of seeds, and only what
may concern it is decoded. What is no URL has no key; it is looked for as it is written.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from strider.contracts import DecodeError, Topic, UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import DeadLetter
from strider.contracts.generated.topics import FRONTIER, HOSTS, LINK_INGESTION_DLQ
from strider.contracts.partitioning import shard_of_host
from strider.localstack.plan.endpoints import common_settings, kafka_connection, read_endpoints
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.errors import Unavailable
from strider.messaging.kafka import KafkaBus
from strider.messaging.ports import Bus, SchemaSource, TopicPartition
from strider.messaging.schema_topic import SchemaFinder
from strider.runtime.clocks import SystemClock
from strider.storage.errors import StoreRejected
from strider.storage.postgres import Postgres, PostgresOptions

from .topics_broker import PATIENCE_SECONDS, open_registry
from .why_facts import (
    Fact,
    decision_fact,
    entry_fact,
    failure_fact,
    host_fact,
    letter_fact,
    lost_seed_fact,
    page_fact,
)
from .why_letters import is_letter_about, may_be_named_in
from .why_tasks import with_tasks

MOST_ROWS: Final = 50
"""Of each table; the newest."""

_TABLES: Final = {
    "crawled_pages": (page_fact, "url_key = $1 AND ($2 = '' OR job_id = $2) ORDER BY crawled_at DESC"),
    "url_decisions": (decision_fact, "url_key = $1 AND ($2 = '' OR job_id = $2) ORDER BY decided_at DESC"),
    "failed_requests": (failure_fact, "url_key = $1 AND ($2 = '' OR job_id = $2) ORDER BY failed_at DESC"),
    "error_logs": (
        letter_fact,
        """right(task_id, 64) = $1 AND task_id <> '' AND ($2 = '' OR task_id = $2 || '/' || $1)
        ORDER BY occurred_at DESC""",
    ),
}

_KEYLESS: Final = {
    "url_decisions": (
        decision_fact,
        """url_key = '' AND (url = $1 OR length(url) >= 500 AND starts_with($1, url))
        AND ($2 = '' OR job_id = $2) ORDER BY decided_at DESC""",
    ),
}
"""What is no URL is kept as it was sent, and long ones by their beginning."""

_ESCAPE: Final = "\\u"
"""How a sign is told that cannot be stored. What is typed so looks like a path, and may be such a text."""


class Known(Protocol):
    """What has to be known of a URL to ask about it."""

    @property
    def key(self) -> str:
        """Its key; empty where the crawler takes no such URL."""

    @property
    def text(self) -> str:
        """As it is written."""

    @property
    def origin(self) -> str:
        """Whose robots.txt it is under."""

    @property
    def host(self) -> str:
        """Its host."""

    @property
    def domain(self) -> str:
        """Its registrable domain."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What everybody said."""

    facts: Sequence[Fact] = ()
    silent: tuple[str, ...] = ()
    """Who could not be asked, and why: a sentence each."""
    asked: int = 1
    """How many were asked, and answered."""

    @property
    def is_anything_known(self) -> bool:
        """Whether anything is known of the URL itself."""
        return any(fact.kind != "host" for fact in self.facts)

    @property
    def is_nobody_asked(self) -> bool:
        """Whether there was nobody to ask."""
        return self.asked == 0


async def ask_everybody(
    known: Known, environment: Mapping[str, str], directory: Path, *, job: str, quick: bool
) -> Answers:
    """Ask the tables and the log that the environment, or the stack that runs here, names."""
    places = read_endpoints(environment, directory)
    answers = Answers(asked=0)
    if dsn := places.get("postgres"):
        answers = await _and(answers, "the tables", _of_tables(dsn, known, job))
    else:
        answers = replace(answers, silent=("no database is named: set POSTGRES_DSN, or run strider up",))
    if quick:
        return answers
    if servers := places.get("kafka"):
        answers = await _and(answers, "the log", _of_log(servers, environment, known, job))
        url, shards = places.get("redis", ""), common_settings(environment).run.shards
        told = await with_tasks(answers.facts, url=url, host=known.host, shards=shards)
        return replace(answers, facts=tuple(told))
    why = "no broker is named: set KAFKA_BOOTSTRAP_SERVERS, or run strider up"
    return replace(answers, silent=(*answers.silent, why))


async def _and(answers: Answers, name: str, asking: Awaitable[Sequence[Fact]]) -> Answers:
    """Add what one of them says, or that it says nothing."""
    try:
        facts = await asking
    except Unavailable as failure:
        return replace(answers, silent=(*answers.silent, f"{name} could not be asked: {failure}"))
    return replace(answers, facts=(*answers.facts, *facts), asked=answers.asked + 1)


async def _of_tables(dsn: str, known: Known, job: str) -> list[Fact]:
    postgres = Postgres(PostgresOptions(dsn, application="strider-why", max_connections=1))
    facts: list[Fact] = []
    try:
        for table, fact_of, condition, wanted in _questions(known):
            query = f"SELECT * FROM {table} WHERE {condition} LIMIT {MOST_ROWS}"  # noqa: S608  # our own texts
            rows = await postgres.fetch(query, wanted, job)
            facts += [fact_of(dict(row)) for row in rows]
    except StoreRejected as refusal:
        raise Unavailable("postgres", f"{refusal.detail}; run: strider migrate up") from refusal
    finally:
        await postgres.close()
    return facts


def _questions(known: Known) -> Iterator[tuple[str, Callable[[Mapping[str, Any]], Fact], str, str]]:
    """Say which tables are asked for what."""
    if known.key:
        yield from ((table, fact_of, where, known.key) for table, (fact_of, where) in _TABLES.items())
    if not known.key or _ESCAPE in known.text:
        yield from ((table, fact_of, where, known.text) for table, (fact_of, where) in _KEYLESS.items())


async def _of_log(servers: str, environment: Mapping[str, str], known: Known, job: str) -> list[Fact]:
    connection = replace(kafka_connection(servers, environment), request_timeout_seconds=PATIENCE_SECONDS)
    bus, codec = KafkaBus(connection), Codec(SchemaStore.bundled())
    registry = open_registry(common_settings(environment))
    schemas = SchemaFinder(bus, codec=codec, registry=registry)
    try:
        return await Log(bus, codec, schemas).facts(known, job)
    finally:
        await schemas.close()
        await bus.close()
        if registry is not None:
            await registry.close()


class Log:
    """The frontier and the hosts as their topics have them, and the seeds that nobody could read."""

    def __init__(self, bus: Bus, codec: Codec, schemas: SchemaSource) -> None:
        self._bus = bus
        self._codec = codec
        self._schemas = schemas

    async def facts(self, known: Known, job: str) -> list[Fact]:
        """Find seeds that name it and were given up, its latest record in each job, its host and origin."""
        lost = [] if job else [lost_seed_fact(letter) for letter in await self._lost_seeds(known)]
        return [*lost, *(await self._recorded(known, job) if known.key else ())]

    async def _recorded(self, known: Known, job: str) -> list[Fact]:
        entries = await self._latest(FRONTIER, known.host, ends=(f"/{known.key}".encode(),))
        names = {known.origin.encode(), known.host.encode(), known.domain.encode()}
        hosts = await self._latest(HOSTS, known.host, ends=tuple(names))
        now_ms = round(time.time() * 1000)
        return [
            *(entry_fact(entry) for entry in entries.values() if not job or entry.job_id == job),
            *(host_fact(host, now_ms=now_ms) for name, host in hosts.items() if name in names),
        ]

    async def _lost_seeds(self, known: Known) -> list[DeadLetter]:
        """Find the dead letters of seeds that name it; which job they were for cannot be read."""
        topic, found = LINK_INGESTION_DLQ, list[bytes]()

        def keep(_key: bytes | None, value: bytes | None) -> None:
            if value is not None and may_be_named_in(value, known):
                found.append(value)

        places = [TopicPartition(topic.name, number) for number in range(await self._partitions(topic))]
        await CompactedTableReader(self._bus, clock=SystemClock(), stall_seconds=PATIENCE_SECONDS).read(
            places, keep
        )
        letters = [await self._decoded(topic, value) for value in found]
        return [letter for letter in letters if is_letter_about(letter, known)][-MOST_ROWS:]

    async def _latest(self, topic: Topic[Any], host: str, *, ends: tuple[bytes, ...]) -> dict[bytes, Any]:
        """Read one partition; keep the last value of each key that ends like one of these."""
        count = await self._partitions(topic)
        kept: dict[bytes, bytes | None] = {}

        def keep(key: bytes | None, value: bytes | None) -> None:
            if key is not None and key.endswith(ends):
                kept[key] = value

        place = TopicPartition(topic.name, shard_of_host(host, count))
        await CompactedTableReader(self._bus, clock=SystemClock(), stall_seconds=PATIENCE_SECONDS).read(
            [place], keep
        )
        return {key: await self._decoded(topic, value) for key, value in kept.items() if value is not None}

    async def _partitions(self, topic: Topic[Any]) -> int:
        count = await self._bus.partition_count(topic.name)
        if count is None:
            raise Unavailable("kafka", f"there is no topic {topic.name}; run: strider topics apply")
        return count

    async def _decoded(self, topic: Topic[Any], value: bytes) -> Any:
        try:
            return self._codec.decode(topic, value)
        except UnknownSchema as unknown:
            if not await self._schemas.find(unknown):
                raise Unavailable(
                    "kafka", f"{topic.name} is written with a schema that nobody has"
                ) from unknown
            return self._codec.decode(topic, value)
        except DecodeError as failure:
            raise Unavailable("kafka", f"a record of {topic.name} cannot be read: {failure}") from failure
