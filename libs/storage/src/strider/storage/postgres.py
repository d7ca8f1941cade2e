"""PostgreSQL client: a pool, timeouts in server and client, translated errors.

Failures that pass (connections, locks, deadlocks, a server that starts, stops or is read-only) are
Unavailable; what the server refused is StoreRejected, a bug of ours. Work is passed as a function, so that it
can be repeated from its beginning: what it writes must be idempotent.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

import asyncpg

from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.ports import Clock, Randomness
from strider.politeness import DB_WRITE_RETRY, RetryPolicy
from strider.runtime.clocks import SystemClock, SystemRandomness
from strider.runtime.retry import retry

from .errors import ESCAPE_HINT, StoreRejected
from .upsert import Upsert

DEPENDENCY: Final = "postgres"

T = TypeVar("T")

Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"

_TRANSIENT_CLASSES: Final = frozenset({"08", "53", "57", "58"})
"""SQLSTATE classes: connection, resources, operator or timeout intervention, system."""

_TRANSIENT_STATES: Final = frozenset(
    {
        "25006",  # read-only: a fail-over is in progress
        "28000", "28P01",  # login refused: a person must act, and no message is the cause
        "3D000",  # no such database (yet)
        "40001", "40P01",  # serialisation, deadlock
        "55P03", "55006",  # a lock, an object in use
        "XX000",  # internal: seen while a server goes down
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PostgresOptions:
    """Options of a database connection."""

    dsn: str = field(repr=False)
    """URL with user, password, database and options; `sslmode` and `sslrootcert` as in libpq."""
    application: str = "strider"
    """Name that the server shows for these connections."""
    min_connections: int = 1
    max_connections: int = 8
    connect_timeout_seconds: float = 3.0
    statement_timeout_seconds: float = 5.0
    """The server ends a statement after this; the client waits a little longer."""
    lock_timeout_seconds: float = 2.0
    cached_statements: int = 100
    """0 behind a pooler that assigns connections by transaction."""


class Postgres:
    """A pool of connections with retries."""

    def __init__(
        self,
        options: PostgresOptions,
        *,
        clock: Clock | None = None,
        chance: Randomness | None = None,
        retry_policy: RetryPolicy = DB_WRITE_RETRY,
    ) -> None:
        self._options = options
        self._clock = clock or SystemClock()
        self._chance = chance or SystemRandomness()
        self._retry_policy = retry_policy
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None

    async def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run work in one transaction; repeated from its beginning after a transient failure."""
        return await retry(
            self._retry_policy,
            lambda: self._once(work),
            clock=self._clock,
            chance=self._chance,
            dependency="postgres",
        )

    async def fetch(self, query: str, *args: Any) -> list[asyncpg.Record]:
        """Return the rows of a query."""
        return await self.run(lambda connection: connection.fetch(query, *args))

    async def upsert(self, statement: Upsert, rows: Iterable[Sequence[Any]]) -> int:
        """Write rows in one statement; return how many were new or changed."""
        columns = statement.columns_of(rows)
        if not columns[0]:
            return 0
        done = await self.run(lambda connection: connection.execute(statement.sql, *columns))
        return int(done.rpartition(" ")[2])

    async def ping(self) -> None:
        """Raise Unavailable when the database does not answer; tried once, for readiness."""
        await self._once(lambda connection: connection.fetchval("SELECT 1"))

    async def close(self) -> None:
        """Close the connections, with a short time to finish."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            async with asyncio.timeout(self._options.statement_timeout_seconds):
                await pool.close()
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            pool.terminate()

    async def _once(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        async with translate_errors():
            pool = self._pool or await self._open()
            wait_seconds = self._options.connect_timeout_seconds
            async with pool.acquire(timeout=wait_seconds) as connection, connection.transaction():
                return await work(connection)

    async def _open(self) -> asyncpg.Pool[asyncpg.Record]:
        """Open the pool once, on first use: a database that is down must not keep a process from starting."""
        async with self._opening:
            if self._pool is None:
                with _check_dsn():
                    self._pool = await asyncpg.create_pool(**_pool_arguments(self._options))
            return self._pool


@asynccontextmanager
async def translate_errors() -> AsyncIterator[None]:
    """Translate the library's errors into ours."""
    try:
        yield
    except asyncpg.PostgresError as failure:
        raise _translate_error(failure) from failure
    except asyncpg.InterfaceError as failure:
        # Of two kinds: the connection was lost, or an argument does not fit its type.
        if isinstance(failure, ValueError | TypeError):
            raise StoreRejected(DEPENDENCY, type(failure).__name__, str(failure)) from failure
        raise Unavailable(DEPENDENCY, str(failure)) from failure
    except (OSError, TimeoutError) as failure:
        raise Unavailable(DEPENDENCY, str(failure) or type(failure).__name__) from failure


async def connect_once(
    dsn: str, *, application: str, timeout_seconds: float = 5.0
) -> asyncpg.Connection[asyncpg.Record]:
    """Open one connection outside of any pool, without a statement timeout: for migrations."""
    async with translate_errors():
        with _check_dsn():
            return await asyncpg.connect(
                dsn, timeout=timeout_seconds, server_settings={"application_name": application}
            )


@contextmanager
def _check_dsn() -> Iterator[None]:
    """Tell an invalid URL (a ValueError, also the library's own) from an unreachable server."""
    try:
        yield
    except ssl.SSLError:
        raise  # an untrusted certificate is a ValueError as well
    except ValueError:
        # The library's message quotes what it could not read, which may be a part of the password.
        raise StartRefused(f"POSTGRES_DSN is not a valid URL ({ESCAPE_HINT})") from None


def _pool_arguments(options: PostgresOptions) -> dict[str, Any]:
    milliseconds = int(options.statement_timeout_seconds * 1000)
    return {
        "dsn": options.dsn,
        "min_size": options.min_connections,
        "max_size": options.max_connections,
        "timeout": options.connect_timeout_seconds,
        "command_timeout": options.statement_timeout_seconds * 1.2,
        "statement_cache_size": options.cached_statements,
        "server_settings": {
            "application_name": options.application,
            "statement_timeout": str(milliseconds),
            "lock_timeout": str(int(options.lock_timeout_seconds * 1000)),
            "idle_in_transaction_session_timeout": str(milliseconds * 2),
        },
    }


def _translate_error(failure: asyncpg.PostgresError) -> Exception:
    state = failure.sqlstate or "?"
    if state[:2] in _TRANSIENT_CLASSES or state in _TRANSIENT_STATES:
        return Unavailable(DEPENDENCY, f"{failure} ({state})")
    return StoreRejected(DEPENDENCY, state, str(failure))
