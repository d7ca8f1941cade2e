"""PostgreSQL as it is: transactions, deadlines, deadlocks, cut wires and restarts."""

from __future__ import annotations

import asyncio
import uuid
from time import monotonic
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from strider.messaging.errors import StartRefused, Unavailable
from strider.politeness import RetryPolicy
from strider.runtime.clocks import SystemClock
from strider.storage.errors import StoreRejected
from strider.storage.postgres import Connection, Postgres, PostgresOptions
from strider.storage.upsert import Upsert
from strider.testing.faulty_tcp_proxy import faulty_tcp_proxy
from strider.testing.stack import ServerStack

PAGES = Upsert(
    "pages",
    columns=(("url", "text"), ("sequence", "bigint"), ("tags", "jsonb")),
    conflict=("url",),
    update=("sequence", "tags"),
    where="pages.sequence < excluded.sequence",
)
ONCE = RetryPolicy(
    retries=0, first_seconds=0.1, factor=1, cap_seconds=0.1, jitter_seconds=0, deadline_seconds=10
)


@pytest.fixture
async def pages(postgres: Postgres) -> Postgres:
    await postgres.run(
        lambda connection: connection.execute(
            "CREATE TABLE pages (url text PRIMARY KEY, sequence bigint, tags jsonb)"
        )
    )
    return postgres


async def _rows(postgres: Postgres) -> list[tuple[object, ...]]:
    return [tuple(row) for row in await postgres.fetch("SELECT url, sequence, tags FROM pages ORDER BY url")]


@pytest.mark.req("S3.15.2", part="PostgreSQL for what is stored")
async def test_a_batch_is_written_once_however_often_it_comes(pages: Postgres) -> None:
    """At-least-once outside, effectively once here; older rows never replace newer ones."""
    assert await pages.upsert(PAGES, [("a", 1, "[]"), ("b", 5, '["x"]'), ("a\x00", 2, "[]")]) == 3
    assert await pages.upsert(PAGES, [("a", 1, "[]"), ("b", 4, "[]"), ("c", 1, "[]"), ("a", 3, "[]")]) == 2
    assert await pages.upsert(PAGES, []) == 0

    assert await _rows(pages) == [("a", 3, "[]"), ("a\ufffd", 2, "[]"), ("b", 5, '["x"]'), ("c", 1, "[]")]


async def test_work_that_fails_leaves_nothing(pages: Postgres) -> None:
    """Work is one transaction."""

    async def work(connection: Connection) -> None:
        await connection.execute("INSERT INTO pages VALUES ('a', 1, '[]')")
        await connection.execute("INSERT INTO pages VALUES ('a', 2, '[]')")

    with pytest.raises(StoreRejected, match="23505"):
        await pages.run(work)
    assert await _rows(pages) == []


async def test_bad_arguments_are_bugs(pages: Postgres) -> None:
    """Found by the library or by the server: neither is worth another try."""
    with pytest.raises(StoreRejected):
        await pages.fetch("SELECT $1::bigint", "no number")
    with pytest.raises(StoreRejected, match="42P01"):
        await pages.fetch("SELECT * FROM nowhere")
    with pytest.raises(StoreRejected):
        await pages.upsert(PAGES, [("a", 1, "{no json")])


@pytest.mark.fault("F15", part="a deadlock")
@pytest.mark.req("S3.19.6")
async def test_a_deadlock_is_tried_again(pages: Postgres) -> None:
    """F15: one of the two is thrown out, and its work done again from the beginning."""
    await pages.upsert(PAGES, [("a", 0, "[]"), ("b", 0, "[]")])
    both_hold_one = asyncio.Barrier(2)
    first_time = {"ab", "ba"}

    def work(order: str) -> object:
        async def crossing(connection: Connection) -> None:
            await connection.execute("SET LOCAL lock_timeout = '8s'")
            await connection.execute("UPDATE pages SET sequence = sequence + 1 WHERE url = $1", order[0])
            if order in first_time:
                first_time.discard(order)
                await both_hold_one.wait()
            await connection.execute("UPDATE pages SET sequence = sequence + 1 WHERE url = $1", order[1])

        return pages.run(crossing)

    await asyncio.gather(work("ab"), work("ba"))  # type: ignore[call-overload]

    assert await _rows(pages) == [("a", 2, "[]"), ("b", 2, "[]")]


@pytest.mark.req("S3.19.6")
async def test_the_server_ends_what_takes_too_long(postgres_dsn: str) -> None:
    """The deadline stands in the server too: a client that goes away leaves no query behind."""
    postgres = Postgres(PostgresOptions(postgres_dsn, statement_timeout_seconds=0.2), retry_policy=ONCE)
    began = monotonic()
    with pytest.raises(Unavailable, match="57014"):
        await postgres.fetch("SELECT pg_sleep(30)")
    await postgres.close()

    assert monotonic() - began < 3
    assert PostgresOptions(postgres_dsn).statement_timeout_seconds == 5


@pytest.mark.fault("F15", part="a silent server")
async def test_a_silent_server_does_not_hold_its_caller(postgres_dsn: str) -> None:
    """A black hole: the connection stands and nothing comes back."""
    parts = urlsplit(postgres_dsn)
    async with faulty_tcp_proxy(parts.hostname or "", parts.port or 5432) as (wire, port):
        dsn = urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{port}"))
        postgres = Postgres(PostgresOptions(dsn, statement_timeout_seconds=0.3), retry_policy=ONCE)
        await postgres.ping()
        wire.hold()
        began = monotonic()
        with pytest.raises(Unavailable, match="postgres is unavailable"):
            await postgres.fetch("SELECT 1")
        took_seconds = monotonic() - began
        wire.release()
        await postgres.close()

    assert took_seconds < 5


async def test_a_cut_wire_is_tried_again(postgres_dsn: str) -> None:
    """The next connection does the work."""
    parts = urlsplit(postgres_dsn)
    async with faulty_tcp_proxy(parts.hostname or "", parts.port or 5432) as (wire, port):
        dsn = urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{port}"))
        postgres = Postgres(PostgresOptions(dsn))
        await postgres.ping()
        wire.cut()
        answer = await postgres.fetch("SELECT 7 AS n")
        await postgres.close()

    assert answer[0]["n"] == 7


async def test_cancelled_work_leaves_its_connection_usable(postgres_dsn: str) -> None:
    """A pool of one: a connection lost by cancelling would stop everything."""
    postgres = Postgres(PostgresOptions(postgres_dsn, max_connections=1))
    for _ in range(5):
        begun = asyncio.Event()

        async def slow(connection: Connection, begun: asyncio.Event = begun) -> None:
            begun.set()
            await connection.execute("SELECT pg_sleep(5)")

        task = asyncio.create_task(postgres.run(slow))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await postgres.fetch("SELECT 1 AS one"))[0]["one"] == 1
    await postgres.close()


@pytest.mark.fault("F15", part="a restart")
@pytest.mark.req("S2.1.9")
async def test_a_restart_is_survived(stack: ServerStack) -> None:
    """F15: kill -9, and the pool finds the server again."""
    if not stack.postgres.is_ours:
        pytest.skip("this server is not ours to kill")
    postgres = Postgres(PostgresOptions(stack.postgres.address))
    await postgres.ping()
    stack.postgres.kill()
    with pytest.raises(Unavailable):
        await postgres.ping()
    stack.postgres.start()

    assert (await postgres.fetch("SELECT 1 AS one"))[0]["one"] == 1
    await postgres.close()


class ClosesInTheFirstPause(SystemClock):
    """A clock that frees a connection once a try has failed."""

    def __init__(self, holder: asyncpg.Connection) -> None:
        self.holder = holder

    async def sleep(self, seconds: float) -> None:
        await self.holder.close()
        await super().sleep(seconds)


@pytest.mark.fault("F15", part="no connection left")
async def test_a_server_without_a_connection_left_is_tried_again(postgres_dsn: str) -> None:
    parts, role = urlsplit(postgres_dsn), f"few_{uuid.uuid4().hex[:8]}"
    admin = await asyncpg.connect(postgres_dsn)
    await admin.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 1")
    dsn = urlunsplit(parts._replace(netloc=f"{role}@{parts.hostname}:{parts.port}"))
    holder = await asyncpg.connect(dsn)
    refused = Postgres(PostgresOptions(dsn), retry_policy=ONCE)
    patient = Postgres(PostgresOptions(dsn), clock=ClosesInTheFirstPause(holder))
    try:
        with pytest.raises(Unavailable, match="too many connections"):
            await refused.ping()
        assert not holder.is_closed()

        assert (await patient.fetch("SELECT current_user AS name"))[0]["name"] == role
        assert holder.is_closed()
    finally:
        await asyncio.gather(holder.close(), refused.close(), patient.close())
        await admin.execute(f"DROP ROLE {role}")
        await admin.close()


async def test_what_is_not_there_is_unavailable() -> None:
    """Also when it never was: the process starts and waits."""
    postgres = Postgres(PostgresOptions("postgresql://127.0.0.1:1/x"), retry_policy=ONCE)
    with pytest.raises(Unavailable, match="postgres is unavailable"):
        await postgres.ping()
    await postgres.close()


async def test_an_address_that_is_none_is_one_line() -> None:
    """It is a setting."""
    postgres = Postgres(PostgresOptions("http://127.0.0.1/x"), retry_policy=ONCE)
    with pytest.raises(StartRefused, match="POSTGRES_DSN"):
        await postgres.ping()
