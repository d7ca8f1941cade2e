"""Errors of client libraries become ours: what time may heal, and what is a bug."""

from __future__ import annotations

import asyncpg
import pytest
from redis import exceptions

from strider.messaging.errors import StartRefused, Unavailable
from strider.storage import postgres, redis
from strider.storage.errors import StoreRejected
from strider.storage.redis import RedisOptions, connect


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(exceptions.ConnectionError("refused"), id="connection"),
        pytest.param(exceptions.TimeoutError("timeout"), id="timeout"),
        pytest.param(exceptions.MaxConnectionsError("too many"), id="pool-is-empty"),
        pytest.param(exceptions.AuthenticationError("wrong password"), id="password"),
        pytest.param(exceptions.BusyLoadingError("loading"), id="loading"),
        pytest.param(exceptions.ReadOnlyError("replica"), id="read-only"),
        pytest.param(exceptions.OutOfMemoryError("full"), id="full"),
        pytest.param(exceptions.ResponseError("MISCONF cannot persist"), id="disk"),
        pytest.param(exceptions.ResponseError("NOREPLICAS not enough"), id="replicas"),
        pytest.param(OSError("unreachable"), id="network"),
    ],
)
async def test_redis_trouble_is_unavailable(failure: Exception) -> None:
    """The consumer pauses, readiness turns red, and no message is to blame."""
    with pytest.raises(Unavailable) as raised:
        async with redis.translate_errors():
            raise failure

    assert raised.value.dependency == "redis"


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        pytest.param(
            exceptions.ResponseError("WRONGTYPE Operation against a key"), "WRONGTYPE", id="wrong-type"
        ),
        pytest.param(exceptions.ResponseError("ERR unknown command"), "ERR", id="unknown-command"),
        pytest.param(exceptions.DataError("Invalid input of type"), "Invalid", id="argument"),
    ],
)
async def test_redis_refusals_are_bugs(failure: Exception, code: str) -> None:
    """Waiting for ever would hide them."""
    with pytest.raises(StoreRejected) as raised:
        async with redis.translate_errors():
            raise failure

    assert (raised.value.part, raised.value.code) == ("redis", code)


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(asyncpg.ConnectionDoesNotExistError("gone"), id="08"),
        pytest.param(asyncpg.TooManyConnectionsError("53300"), id="53"),
        pytest.param(asyncpg.DiskFullError("53100"), id="disk-full"),
        pytest.param(asyncpg.AdminShutdownError("57P01"), id="shutdown"),
        pytest.param(asyncpg.CannotConnectNowError("57P03"), id="starting"),
        pytest.param(asyncpg.QueryCanceledError("57014"), id="statement-timeout"),
        pytest.param(asyncpg.SerializationError("40001"), id="serialisation"),
        pytest.param(asyncpg.DeadlockDetectedError("40P01"), id="deadlock"),
        pytest.param(asyncpg.LockNotAvailableError("55P03"), id="lock"),
        pytest.param(asyncpg.ReadOnlySQLTransactionError("25006"), id="read-only"),
        pytest.param(asyncpg.InvalidPasswordError("28P01"), id="password"),
        pytest.param(asyncpg.InvalidCatalogNameError("3D000"), id="no-database"),
        pytest.param(asyncpg.InterfaceError("connection is closed"), id="closed"),
        pytest.param(TimeoutError(), id="timeout"),
        pytest.param(ConnectionResetError("reset"), id="reset"),
    ],
)
async def test_postgres_trouble_is_unavailable(failure: Exception) -> None:
    """F15: retries with backoff, no lost row."""
    with pytest.raises(Unavailable) as raised:
        async with postgres.translate_errors():
            raise failure

    assert raised.value.dependency == "postgres"


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        pytest.param(asyncpg.UniqueViolationError("23505"), "23505", id="unique"),
        pytest.param(asyncpg.UndefinedTableError("42P01"), "42P01", id="no-table"),
        pytest.param(asyncpg.PostgresSyntaxError("42601"), "42601", id="syntax"),
        pytest.param(asyncpg.DataError("invalid input"), "22000", id="data"),
    ],
)
async def test_postgres_refusals_are_bugs(failure: Exception, code: str) -> None:
    """The row goes to the dead letters with this word."""
    with pytest.raises(StoreRejected) as raised:
        async with postgres.translate_errors():
            raise failure

    assert (raised.value.part, raised.value.code) == ("postgres", code)


@pytest.mark.parametrize("url", ["", "localhost:6379", "http://localhost", "redis://localhost:port"])
def test_a_redis_address_that_is_none_is_one_line(url: str) -> None:
    """It is a setting, and the process must not start."""
    with pytest.raises(StartRefused, match="REDIS_URL"):
        connect(RedisOptions(url))


def test_options_hide_their_addresses() -> None:
    """Passwords stand in them, and options end up in tracebacks."""
    shown = repr(RedisOptions("redis://:secret@h")) + repr(
        postgres.PostgresOptions("postgresql://u:secret@h")
    )

    assert "secret" not in shown
