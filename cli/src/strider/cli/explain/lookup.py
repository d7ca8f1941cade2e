"""Look up a URL in the tables and in the topics of frontier, hosts and dead letters.

A source that does not answer is named, and the others are read all the same. Of the topics only the
partition of the URL's host is read, beside the dead letters of seeds, and only records that may concern the
URL are decoded. What is not a URL has no key; it is searched as it is written.

A seed that could not be decoded has no key: only its bytes are known. The URL in them is parsed as the
crawler parses it, so that each spelling is found; one that no crawler takes is found as it was sent only.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from strider.cli.connections import (
    KAFKA,
    POSTGRES,
    REQUEST_TIMEOUT_SECONDS,
    MissingAddress,
    MissingTopic,
    open_postgres,
    open_schema_registry,
    rejected_text,
    unavailable_text,
)
from strider.cli.frontier.task_counts import add_task_states
from strider.contracts import DecodeError, Topic, UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import EntryState, RobotsState
from strider.contracts.generated.events import DeadLetter, EntryRecorded, HostRecorded
from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    FRONTIER,
    HOSTS,
    LINK_INGESTION_DLQ,
    SEEDS_OWNED,
    SEEDS_SUBMITTED,
)
from strider.contracts.partitioning import shard_of_host
from strider.link_ingestion.core import url_in
from strider.localstack.plan.endpoints import common_settings, kafka_connection, read_endpoints
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.errors import Unavailable
from strider.messaging.kafka import KafkaBus
from strider.messaging.ports import Bus, SchemaSource, TopicPartition
from strider.messaging.schema_topic import SchemaFinder
from strider.runtime.clocks import SystemClock
from strider.storage.errors import StoreRejected
from strider.urls import (
    HOST_NAME,
    RefusedUrl,
    escape_unstorable,
    host_kind,
    to_wire_url,
    url_hash,
    url_key_of,
)

from .facts import (
    UrlFact,
    dead_letter_fact,
    decision_fact,
    entry_fact,
    failure_fact,
    host_fact,
    lost_seed_fact,
    page_fact,
)
from .robots_wait import robots_wait_text, with_robots_wait
from .subject import UrlSubject

SEED_TOPICS: Final = (SEEDS_OWNED.name, SEEDS_SUBMITTED.name)


def may_name(letter: bytes, subject: UrlSubject) -> bool:
    """Whether an undecoded letter may name the URL, and is to be decoded: bytes are unescaped in it."""
    if not any(topic.encode() in letter for topic in SEED_TOPICS):
        return False
    if not subject.key:
        return not _is_unescaped(subject.text) or subject.text.encode() in letter.replace(b"\\/", b"/")
    # Host names beyond ASCII and IP addresses have many spellings.
    is_sure = host_kind(subject.host) == HOST_NAME and "xn--" not in subject.host
    return not is_sure or subject.host.encode() in letter.lower() or not _is_unescaped(subject.text)


def names_url(raw: bytes, subject: UrlSubject) -> bool:
    """Whether the bytes of a seed, in any framing, name the URL."""
    sent = url_in(raw).strip()
    if not sent:
        return bool(subject.text) and not subject.key and _contains_whole(subject.text.encode(), raw)
    found = to_wire_url(sent)
    if isinstance(found, RefusedUrl):
        return escape_unstorable(sent) == subject.text
    return bool(subject.key) and url_hash(url_key_of(found)) == subject.key


def is_about(letter: DeadLetter, subject: UrlSubject) -> bool:
    """Whether a dead letter is of a seed that names the URL."""
    is_seed = letter.topic in SEED_TOPICS and letter.value is not None
    return is_seed and names_url(letter.value or b"", subject)


def _is_unescaped(text: str) -> bool:
    """Whether a text has the same bytes in every encoding and escaping."""
    return text.isascii() and "\\u" not in text


def _contains_whole(text: bytes, plain: bytes) -> bool:
    """Whether bytes contain a text that is not part of a longer one."""
    return re.search(rb"(?<![\w./:-])" + re.escape(text) + rb"(?![\w./:-])", plain) is not None


MAX_ROWS: Final = 50
"""Newest rows of each table, and newest dead letters."""

_TABLES: Final = {
    "crawled_pages": (page_fact, "url_key = $1 AND ($2 = '' OR job_id = $2) ORDER BY crawled_at DESC"),
    "url_decisions": (decision_fact, "url_key = $1 AND ($2 = '' OR job_id = $2) ORDER BY decided_at DESC"),
    "failed_requests": (failure_fact, "url_key = $1 AND ($2 = '' OR job_id = $2) ORDER BY failed_at DESC"),
    "error_logs": (
        dead_letter_fact,
        """right(task_id, 64) = $1 AND task_id <> '' AND ($2 = '' OR task_id = $2 || '/' || $1)
        ORDER BY occurred_at DESC""",
    ),
}

_TABLES_WITHOUT_KEY: Final = {
    "url_decisions": (
        decision_fact,
        """url_key = '' AND (url = $1 OR length(url) >= 500 AND starts_with($1, url))
        AND ($2 = '' OR job_id = $2) ORDER BY decided_at DESC""",
    ),
}
"""A text that is not a URL is stored as it was sent; a long one by its first characters."""

_ESCAPE: Final = "\\u"
"""Beginning of an escaped character that cannot be stored. Typed, it looks like a path, and may be a text."""


class UnreadableRecord(Exception):
    """A record of a topic that cannot be decoded here."""


@dataclass(frozen=True, slots=True)
class LookupResult:
    """Facts from all sources, and the sources that could not be read."""

    facts: Sequence[UrlFact] = ()
    unavailable: tuple[str, ...] = ()
    """One sentence for each source that could not be read."""
    sources_read: int = 1
    is_configured: bool = True
    """Whether the address of any source is known."""

    @property
    def has_url_facts(self) -> bool:
        """Whether anything is known of the URL itself."""
        return any(fact.kind != "host" for fact in self.facts)

    @property
    def has_no_source(self) -> bool:
        """Whether no source could be read."""
        return self.sources_read == 0


async def look_up(
    subject: UrlSubject, environment: Mapping[str, str], directory: Path, *, job: str, quick: bool
) -> LookupResult:
    """Read the tables and, unless `quick`, the topics of the environment or of the local stack."""
    endpoints = read_endpoints(environment, directory)
    servers_read = (POSTGRES,) if quick else (POSTGRES, KAFKA)
    is_configured = any(endpoints.get(server.endpoint) for server in servers_read)
    result = LookupResult(sources_read=0, is_configured=is_configured)
    if dsn := endpoints.get(POSTGRES.endpoint):
        result = await _add_source(result, "tables", _read_tables(dsn, subject, job))
    else:
        result = replace(result, unavailable=(str(MissingAddress(POSTGRES)),))
    if quick:
        return result
    if servers := endpoints.get(KAFKA.endpoint):
        result = await _add_source(result, "topics", _read_topics(servers, environment, subject, job))
        url, shards = endpoints.get("redis", ""), common_settings(environment).run.shards
        facts = await add_task_states(result.facts, url=url, host=subject.host, shards=shards)
        return replace(result, facts=tuple(facts))
    return replace(result, unavailable=(*result.unavailable, str(MissingAddress(KAFKA))))


async def _add_source(result: LookupResult, name: str, reading: Awaitable[Sequence[UrlFact]]) -> LookupResult:
    """Add the facts of a source, or the reason why it could not be read."""
    try:
        facts = await reading
    except Unavailable as failure:
        reason = unavailable_text(failure)
    except StoreRejected as failure:
        reason = rejected_text(failure)
    except (MissingTopic, UnreadableRecord) as failure:
        reason = str(failure)
    else:
        return replace(result, facts=(*result.facts, *facts), sources_read=result.sources_read + 1)
    return replace(result, unavailable=(*result.unavailable, f"{name} not read: {reason}"))


async def _read_tables(dsn: str, subject: UrlSubject, job: str) -> list[UrlFact]:
    facts: list[UrlFact] = []
    async with open_postgres(dsn, application="strider-why") as postgres:
        for table, fact_of, condition, wanted in _table_queries(subject):
            query = f"SELECT * FROM {table} WHERE {condition} LIMIT {MAX_ROWS}"  # noqa: S608  # constants above
            rows = await postgres.fetch(query, wanted, job)
            facts += [fact_of(dict(row)) for row in rows]
    return facts


class Refusal(NamedTuple):
    """Job, crawl spec and page of a decision against a URL, with which its rules are evaluated again."""

    job_id: str
    crawl_spec_id: str
    page_url: str
    """The page that the URL was found on; empty for a seed."""


async def find_refusal(dsn: str, subject: UrlSubject, *, job: str) -> Refusal | None:
    """Return the newest decision against a URL; None where there is none. Raises InfrastructureError."""
    query = """SELECT job_id, crawl_spec_id, page_url FROM url_decisions
        WHERE url_key = $1 AND ($2 = '' OR job_id = $2) AND crawl_spec_id <> ''
        ORDER BY decided_at DESC LIMIT 1"""
    async with open_postgres(dsn, application="strider-explain") as postgres:
        rows = await postgres.fetch(query, subject.key, job)
    return Refusal(*rows[0].values()) if rows else None


def _table_queries(
    subject: UrlSubject,
) -> Iterator[tuple[str, Callable[[Mapping[str, Any]], UrlFact], str, str]]:
    """Return table, fact, condition and first argument of each query."""
    if subject.key:
        yield from ((table, fact_of, where, subject.key) for table, (fact_of, where) in _TABLES.items())
    if not subject.key or _ESCAPE in subject.text:
        yield from (
            (table, fact_of, where, subject.text) for table, (fact_of, where) in _TABLES_WITHOUT_KEY.items()
        )


async def _read_topics(
    servers: str, environment: Mapping[str, str], subject: UrlSubject, job: str
) -> list[UrlFact]:
    connection = replace(
        kafka_connection(servers, environment), request_timeout_seconds=REQUEST_TIMEOUT_SECONDS
    )
    bus, codec = KafkaBus(connection), Codec(SchemaStore.bundled())
    settings = common_settings(environment)
    registry = open_schema_registry(settings)
    schemas = SchemaFinder(bus, codec=codec, registry=registry)
    try:
        reader = UrlTopicReader(bus, codec, schemas, respects_robots=settings.crawl.respect_robots)
        return await reader.facts(subject, job)
    finally:
        await schemas.close()
        await bus.close()
        if registry is not None:
            await registry.close()


class UrlTopicReader:
    """Reads what the topics of frontier, hosts and dead letters have about one URL."""

    def __init__(
        self, bus: Bus, codec: Codec, schemas: SchemaSource, *, respects_robots: bool = True
    ) -> None:
        self._respects_robots = respects_robots
        self._bus = bus
        self._codec = codec
        self._schemas = schemas

    async def facts(self, subject: UrlSubject, job: str) -> list[UrlFact]:
        """Return its dead-lettered seeds, its latest entry in each job, its host and its origin."""
        lost = [] if job else [lost_seed_fact(letter) for letter in await self._lost_seeds(subject)]
        return [*lost, *(await self._frontier_facts(subject, job) if subject.key else ())]

    async def _frontier_facts(self, subject: UrlSubject, job: str) -> list[UrlFact]:
        entries = await self._read_latest(FRONTIER, subject.host, ends=(f"/{subject.key}".encode(),))
        names = {subject.origin.encode(), subject.host.encode(), subject.domain.encode()}
        records = await self._read_latest(HOSTS, subject.host, ends=tuple(names))
        hosts = [host for name, host in records.items() if name in names]
        now_ms = round(time.time() * 1000)
        found = [entry for entry in entries.values() if not job or entry.job_id == job]
        return [
            *await self._entry_facts(subject, found, hosts),
            *(host_fact(host, now_ms=now_ms) for host in hosts),
        ]

    async def _entry_facts(
        self, subject: UrlSubject, entries: Sequence[EntryRecorded], hosts: Sequence[HostRecorded]
    ) -> list[UrlFact]:
        """Return the facts of entries, each with the robots.txt that it waits for."""
        waiting = {entry.crawl_spec_id.encode() for entry in entries if entry.state == EntryState.PENDING}
        if not waiting or not any(host.robots_state == RobotsState.UNREACHABLE for host in hosts):
            return [entry_fact(entry) for entry in entries]
        specs = await self._read_latest(CRAWL_SPECS, subject.host, ends=tuple(waiting))
        by_id = {spec.crawl_spec_id: spec for spec in specs.values()}
        return [
            with_robots_wait(
                entry_fact(entry),
                robots_wait_text(
                    entry, by_id.get(entry.crawl_spec_id), hosts, respects_robots=self._respects_robots
                ),
            )
            for entry in entries
        ]

    async def _lost_seeds(self, subject: UrlSubject) -> list[DeadLetter]:
        """Return the dead letters of seeds that name the URL; their job cannot be decoded."""
        topic, found = LINK_INGESTION_DLQ, list[bytes]()

        def keep(_key: bytes | None, value: bytes | None) -> None:
            if value is not None and may_name(value, subject):
                found.append(value)

        count = await self._partition_count(topic)
        places = [TopicPartition(LINK_INGESTION_DLQ.name, number) for number in range(count)]
        await self._reader().read(places, keep)
        letters = [await self._decode(topic, value) for value in found]
        return [letter for letter in letters if is_about(letter, subject)][-MAX_ROWS:]

    async def _read_latest(
        self, topic: Topic[Any], host: str, *, ends: tuple[bytes, ...]
    ) -> dict[bytes, Any]:
        """Read the partition of a host; return the last value of each key with one of these endings."""
        count = await self._partition_count(topic)
        kept: dict[bytes, bytes | None] = {}

        def keep(key: bytes | None, value: bytes | None) -> None:
            if key is not None and key.endswith(ends):
                kept[key] = value

        await self._reader().read([TopicPartition(topic.name, shard_of_host(host, count))], keep)
        return {key: await self._decode(topic, value) for key, value in kept.items() if value is not None}

    def _reader(self) -> CompactedTableReader:
        return CompactedTableReader(self._bus, clock=SystemClock(), stall_seconds=REQUEST_TIMEOUT_SECONDS)

    async def _partition_count(self, topic: Topic[Any]) -> int:
        count = await self._bus.partition_count(topic.name)
        if count is None:
            raise MissingTopic(topic.name)
        return count

    async def _decode(self, topic: Topic[Any], value: bytes) -> Any:
        try:
            return self._codec.decode(topic, value)
        except UnknownSchema as unknown:
            if not await self._schemas.find(unknown):
                raise UnreadableRecord(f"{topic.name} is written with an unknown schema") from unknown
            return self._codec.decode(topic, value)
        except DecodeError as failure:
            raise UnreadableRecord(f"a record of {topic.name} cannot be decoded: {failure}") from failure
