"""The way to PostgreSQL: a pool, deadlines in the server as well as here, errors in our words.

What time may heal (connections, locks, deadlocks, a server that starts, stops or only reads) is
Unavailable; what the server understood and refused is Rejected, a bug of ours. Work is handed in
as a function, so that it can run again from its beginning: what it writes must bear repeating.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

import asyncpg

from strider.politeness import DB_WRITE_RETRY, RetryPolicy
from strider.runtime.clocks import SystemChance, SystemClock
from strider.runtime.errors import StartRefused, Unavailable
from strider.runtime.ports import Chance, Clock
from strider.runtime.retry import retry

from .errors import ESCAPE_HINT, StoreRejected
from .upsert import Upsert

DEPENDENCY: Final = "postgres"

T = TypeVar("T")

Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"

_TRANSIENT_CLASSES: Final = frozenset({"08", "53", "57", "58"})
"""SQLSTATE classes: connection, resources, an operator (or a deadline) stepped in, the system below."""

_TRANSIENT_STATES: Final = frozenset(
    {
        "25006",  # the server only reads: a fail-over is under way
        "28000", "28P01",  # not let in: a person must act, and no message is to blame
        "3D000",  # no such database (yet)
        "40001", "40P01",  # serialisation, deadlock
        "55P03", "55006",  # a lock, an object in use
        "XX000",  # internal: seen while a server goes down
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PostgresOptions:
    """How to reach a database."""

    dsn: str = field(repr=False)
    """Address with user, password, database and options; `sslmode` and `sslrootcert` as libpq has them."""
    application: str = "strider"
    """Name that the server shows for these connections."""
    min_connections: int = 1
    max_connections: int = 8
    connect_timeout_seconds: float = 3.0
    statement_timeout_seconds: float = 5.0
    """The server ends a statement after this; here the wait is a little longer."""
    lock_timeout_seconds: float = 2.0
    cached_statements: int = 100
    """0 behind a pooler that hands connections out by transaction."""


class Postgres:
    """A pool of connections, and the one way to work with them."""

    def __init__(
        self,
        options: PostgresOptions,
        *,
        clock: Clock | None = None,
        chance: Chance | None = None,
        ladder: RetryPolicy = DB_WRITE_RETRY,
    ) -> None:
        self._options = options
        self._clock = clock or SystemClock()
        self._chance = chance or SystemChance()
        self._ladder = ladder
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None

    async def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Do some work in one transaction; done again from its beginning when the database falters."""
        return await retry(
            self._ladder,
            lambda: self._once(work),
            clock=self._clock,
            chance=self._chance,
            part="postgres",
        )

    async def fetch(self, query: str, *args: Any) -> list[asyncpg.Record]:
        """Read rows."""
        return await self.run(lambda connection: connection.fetch(query, *args))

    async def upsert(self, statement: Upsert, rows: Iterable[Sequence[Any]]) -> int:
        """Write rows in one statement; gives how many the server took as new or changed."""
        columns = statement.columns_of(rows)
        if not columns[0]:
            return 0
        done = await self.run(lambda connection: connection.execute(statement.sql, *columns))
        return int(done.rpartition(" ")[2])

    async def ping(self) -> None:
        """Raise Unavailable when the database does not answer; asked once, for readiness."""
        await self._once(lambda connection: connection.fetchval("SELECT 1"))

    async def close(self) -> None:
        """Let connections finish what they do, but not for long."""
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
    """Turn the library's errors into ours."""
    try:
        yield
    except asyncpg.PostgresError as failure:
        raise _judged(failure) from failure
    except asyncpg.InterfaceError as failure:
        # Of two kinds: the connection went away under us, or an argument does not fit its type.
        if isinstance(failure, ValueError | TypeError):
            raise StoreRejected(DEPENDENCY, type(failure).__name__, str(failure)) from failure
        raise Unavailable(DEPENDENCY, str(failure)) from failure
    except (OSError, TimeoutError) as failure:
        raise Unavailable(DEPENDENCY, str(failure) or type(failure).__name__) from failure


async def connect_once(
    dsn: str, *, application: str, timeout_seconds: float = 5.0
) -> asyncpg.Connection[asyncpg.Record]:
    """Open one connection outside of any pool, without a limit on statements: for migrations."""
    async with translate_errors():
        with _check_dsn():
            return await asyncpg.connect(
                dsn, timeout=timeout_seconds, server_settings={"application_name": application}
            )


@contextmanager
def _check_dsn() -> Iterator[None]:
    """Tell an address that is none (a ValueError, also the library's own) from a server that is not there."""
    try:
        yield
    except ssl.SSLError:
        raise  # a certificate that nobody vouches for is a ValueError as well
    except ValueError:
        # The library's words quote what it could not read, which may be a part of the password.
        raise StartRefused(f"POSTGRES_DSN is no address ({ESCAPE_HINT})") from None


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


def _judged(failure: asyncpg.PostgresError) -> Exception:
    state = failure.sqlstate or "?"
    if state[:2] in _TRANSIENT_CLASSES or state in _TRANSIENT_STATES:
        return Unavailable(DEPENDENCY, f"{failure} ({state})")
    return StoreRejected(DEPENDENCY, state, str(failure))
