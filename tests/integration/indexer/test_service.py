"""The indexer as a real process on a real broker and a real database."""

from __future__ import annotations

import asyncio
import signal
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from strider.contracts import TOPICS
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import Product
from strider.contracts.generated.topics import (
    FETCHES_COMPLETED,
    FRONTIER,
    HOSTS,
    PAGES_REJECTED,
    PAGES_VALIDATED,
    PARSER_DLQ,
    URLS_DECIDED,
)
from strider.indexer.core import to_datetime
from strider.messaging.effects import Publish
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.topics import apply_topics
from strider.runtime.clocks import SystemClock
from strider.runtime.observability import log_events
from strider.runtime.process.exit_codes import ExitCode
from strider.runtime.publishing.publisher import EventPublisher
from strider.storage.postgres import Postgres
from strider.testing.faulty_tcp_proxy import faulty_tcp_proxy
from strider.testing.stack import ServerStack
from tests.integration.examples.processes import SHARDS, ServiceProcess
from tests.unit.indexer.events import (
    FETCHED_AT_MS,
    a_completion,
    a_decision,
    a_host,
    a_letter,
    a_page,
    a_rejection,
    an_entry,
    key,
)

CODEC = Codec(SchemaStore.bundled())
DEADLINE_SECONDS = 60.0

Start = Callable[..., ServiceProcess]


@pytest.fixture
async def topics(stack: ServerStack) -> str:
    """Create topics and initial offsets; return the broker's address."""
    connection = KafkaConnection((stack.kafka.address,))
    core = [topic for topic in TOPICS.values() if topic.profile == "core"]
    await apply_topics(connection, core, shards=SHARDS)
    return stack.kafka.address


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[ServiceProcess] = []

    def launch(bootstrap: str, dsn: str, **environ: str) -> ServiceProcess:
        log = tmp_path / f"indexer-{len(running)}.log"
        running.append(ServiceProcess("indexer", bootstrap, log, {"POSTGRES_DSN": dsn, **environ}))
        return running[-1]

    yield launch
    for process in running:
        process.close()


@pytest.fixture
def site() -> str:
    """Return a site that no other test uses."""
    return f"https://{uuid.uuid4().hex[:8]}.test"


async def speak(bootstrap: str, *says: Publish) -> None:
    bus = KafkaBus(KafkaConnection((bootstrap,)))
    speaker = EventPublisher(bus, CODEC, service="test", shards=SHARDS, clock=SystemClock())
    try:
        await speaker.publish(says)
    finally:
        await speaker.close()
        await bus.close()


async def until(question: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not (answer := await question()):
            await asyncio.sleep(0.1)
    return answer


async def count(postgres: Postgres, table: str, site: str) -> int:
    rows = await postgres.fetch(f"SELECT count(*) FROM {table} WHERE url LIKE $1 || '%'", site)
    return int(rows[0][0])


async def is_there(postgres: Postgres, expected: int, site: str, table: str = "crawled_pages") -> bool:
    found = await count(postgres, table, site)
    assert found <= expected
    return found == expected


@pytest.mark.req("S4.1.4")
@pytest.mark.req("S3.15.2", part="PostgreSQL for what is stored")
async def test_published_pages_are_stored(
    topics: str, start: Start, database: str, postgres: Postgres, site: str
) -> None:
    """Every kind of event has its table; an invalid row costs one dead letter, which is stored too."""
    good = [Publish(PAGES_VALIDATED, a_page(f"{site}/{number}")) for number in range(20)]
    poison = Publish(
        PAGES_VALIDATED, a_page(f"{site}/bad", execution_id="".join(key(f"{site}/{n}") for n in range(150)))
    )
    letter = a_letter(offset=uuid.uuid4().int % 2**40, task_id=f"adhoc/{key(site + '/letter')}")
    process = start(topics, database)
    await speak(
        topics,
        *good[:10],
        poison,
        *good[10:],
        Publish(PAGES_REJECTED, a_rejection(f"{site}/rejected")),
        Publish(URLS_DECIDED, a_decision(f"{site}/refused", f"{site}/refused-too")),
        Publish(FETCHES_COMPLETED, a_completion(f"{site}/failed")),
        Publish(PARSER_DLQ, letter),
        Publish(FRONTIER, an_entry(f"{site}/waits")),
        Publish(HOSTS, a_host(kind="robots", origin=site, robots_url=f"{site}/robots.txt")),
    )

    await until(lambda: is_there(postgres, 20, site))
    await until(lambda: is_there(postgres, 3, site, "url_decisions"))
    await until(lambda: is_there(postgres, 1, site, "failed_requests"))
    await until(lambda: is_there(postgres, 1, site, "urls"))
    await until(lambda: _robots(postgres, site))
    query = "SELECT service, reason FROM error_logs WHERE right(task_id, 64) = ANY($1) ORDER BY service"
    keys = [key(f"{site}/bad"), key(f"{site}/letter")]
    letters = await until(lambda: _two(postgres, query, keys))

    assert [tuple(row) for row in letters] == [("indexer", "handler_crashed"), ("parser", "handler_crashed")]
    assert await asyncio.to_thread(process.stop) == 0


async def _robots(postgres: Postgres, site: str) -> Any:
    return await postgres.fetch("SELECT robots_url FROM hosts WHERE name = $1", site)


async def _two(postgres: Postgres, query: str, keys: list[str]) -> Any:
    rows = await postgres.fetch(query, keys)
    return rows if len(rows) == 2 else None


async def test_a_kill_loses_nothing_and_doubles_nothing(
    topics: str, start: Start, database: str, postgres: Postgres, site: str
) -> None:
    """Rows are written before offsets, so that repeated messages write the same rows."""
    process = start(topics, database)
    says = [Publish(PAGES_VALIDATED, a_page(f"{site}/{number}")) for number in range(600)]
    await speak(topics, *says[:300])
    await until(lambda: count(postgres, "crawled_pages", site))

    await speak(topics, *says[300:])
    await asyncio.to_thread(process.stop, signal.SIGKILL)
    start(topics, database)

    await until(lambda: is_there(postgres, 600, site))


@pytest.mark.fault("F15", part="under the indexer")
@pytest.mark.req("S3.19.17")
@pytest.mark.req("S3.19.29", part="the indexer waits and goes on by itself")
async def test_an_unavailable_database_pauses_the_service(
    topics: str, start: Start, database: str, postgres: Postgres, site: str
) -> None:
    """Readiness is red, nothing is rejected, and it continues by itself."""
    address = urlsplit(database)
    async with faulty_tcp_proxy(address.hostname or "", address.port or 5432) as (wire, port):
        near = urlunsplit(address._replace(netloc=address.netloc.replace(str(address.port), str(port))))
        process = start(topics, near)
        await asyncio.to_thread(process.wait_for_event, "Service running")

        wire.hold()
        wire.cut()
        await speak(topics, *(Publish(PAGES_VALIDATED, a_page(f"{site}/{number}")) for number in range(50)))
        await until(lambda: _says(process, 503))
        paused = await asyncio.to_thread(process.wait_for_event, log_events.CONSUMPTION_PAUSED.text)
        stored_meanwhile = await count(postgres, "crawled_pages", site)
        wire.release()
        await until(lambda: is_there(postgres, 50, site))
        await until(lambda: _says(process, 200))

    assert stored_meanwhile == 0
    assert paused["reason"] == "postgres"
    assert not process.lines_of("Message dead-lettered")


@pytest.mark.req("S2.1.10")
async def test_a_service_ends_after_its_database_was_away_for_as_long_as_is_set(
    topics: str, start: Start, database: str, postgres: Postgres, site: str
) -> None:
    """C-37: it reconnects within that time, and ends after it; the next one stores what was left."""
    address = urlsplit(database)
    async with faulty_tcp_proxy(address.hostname or "", address.port or 5432) as (wire, port):
        near = urlunsplit(address._replace(netloc=address.netloc.replace(str(address.port), str(port))))
        patient = start(topics, near, STRIDER_EXIT_AFTER_SECONDS="1h")
        await asyncio.to_thread(patient.wait_for_event, "Service running")
        wire.hold()
        wire.cut()
        await until(lambda: _says(patient, 503))
        wire.release()
        await until(lambda: _says(patient, 200))
        reconnected = await asyncio.to_thread(patient.stop)
        ending = start(topics, near, STRIDER_EXIT_AFTER_SECONDS="2s", STRIDER_GRACE="3s")
        await asyncio.to_thread(ending.wait_for_event, "Service running")
        wire.hold()
        wire.cut()
        await speak(topics, Publish(PAGES_VALIDATED, a_page(f"{site}/1")))
        code = await asyncio.to_thread(ending.code)
        starting = await asyncio.to_thread(start(topics, near, STRIDER_EXIT_AFTER_SECONDS="1s").code)
        wire.release()
    start(topics, database)
    await until(lambda: is_there(postgres, 1, site))

    (told,) = ending.lines_of(log_events.DEPENDENCY_AWAY_TOO_LONG.text)
    assert (reconnected, code, starting) == (0, ExitCode.UNAVAILABLE, ExitCode.UNAVAILABLE)
    assert told["part"] == "postgres"


async def _says(process: ServiceProcess, status: int) -> bool:
    return (await asyncio.to_thread(process.get, "/readyz")).status_code == status


@pytest.mark.req("S4.3.1", "S4.12.24", "S4.14.7")
async def test_products_are_found_by_their_attributes_and_keep_the_moment_of_a_change(
    topics: str, start: Start, database: str, postgres: Postgres, site: str
) -> None:
    """A lamp is fetched three times, the last time with another price; a kettle is fetched once."""
    lamp = Product("Lamp", price="19.99", currency="EUR", availability="in_stock", rating=4.5)
    kettle = Product("Kettle", price="100", currency="EUR", availability="out_of_stock", rating=2.0)

    def fetched(path: str, product: Product, visit: int = 0) -> Publish[Any]:
        told = replace(product, content_hash=product.price)
        moment = FETCHED_AT_MS + 10_000 * visit
        page = a_page(site + path, products=(told,), fetched_at_ms=moment, fetch_sequence=visit + 1)
        return Publish(PAGES_VALIDATED, page)

    async def moments(visit: int) -> Any:
        query = "SELECT created_at, updated_at, crawled_at FROM products WHERE page_url = $1"
        found = [tuple(row) for row in await postgres.fetch(query, f"{site}/lamp")]
        return found[0] if found and found[0][2] == to_datetime(FETCHED_AT_MS + 10_000 * visit) else None

    start(topics, database)
    await speak(topics, fetched("/kettle", kettle), fetched("/lamp", lamp))
    await until(lambda: moments(0))
    await speak(topics, fetched("/lamp", lamp, 1))
    unchanged = await until(lambda: moments(1))
    for condition, path in [
        ("price BETWEEN 10 AND 20", "/lamp"),
        ("price > 20", "/kettle"),
        ("rating >= 4", "/lamp"),
        ("availability = 'out_of_stock'", "/kettle"),
    ]:
        query = f"SELECT page_url FROM products WHERE page_url LIKE $1 || '%' AND {condition}"
        assert [row[0] for row in await postgres.fetch(query, site)] == [site + path]
    await speak(topics, fetched("/lamp", replace(lamp, price="9.99"), 2))
    changed = await until(lambda: moments(2))

    first, last = to_datetime(FETCHED_AT_MS), to_datetime(FETCHED_AT_MS + 20_000)
    assert (unchanged[:2], changed[:2]) == ((first, first), (first, last))
