"""Stores behind TLS: who shows papers that are vouched for is talked to, and nobody else."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from strider.politeness import RetryLadder
from strider.runtime.errors import Unavailable
from strider.stores.postgres import Postgres, PostgresOptions
from strider.stores.redis import RedisOptions, connect

from .tls import HOST, Papers, papers, tls_before

ONCE = RetryLadder(
    tries=0, first_seconds=0.1, factor=1, cap_seconds=0.1, jitter_seconds=0, deadline_seconds=10
)


@pytest.fixture
def good(tmp_path: Path) -> Papers:
    return papers(tmp_path)


@pytest.fixture
def of_another(tmp_path: Path) -> Papers:
    (tmp_path / "another").mkdir()
    return papers(tmp_path / "another", name="another.test")


async def redis_says(url: str, *, ca_file: str) -> str:
    redis = connect(RedisOptions(url, ca_file=ca_file))
    try:
        await redis.command("SET", "word", "kept")
        return str(await redis.command("GET", "word"))
    finally:
        await redis.close()


async def test_redis_is_spoken_to_in_secret(redis_url: str, good: Papers) -> None:
    async with tls_before(urlsplit(redis_url).port or 0, good) as port:
        said = await redis_says(f"rediss://{HOST}:{port}", ca_file=str(good.authority))

    assert "kept" in said


async def test_redis_that_nobody_vouches_for_is_not_spoken_to(
    redis_url: str, good: Papers, of_another: Papers
) -> None:
    """Neither with papers of an unknown authority nor with those of another server."""
    plain = urlsplit(redis_url).port or 0
    async with tls_before(plain, good) as port:
        with pytest.raises(Unavailable, match="certificate verify failed"):
            await redis_says(f"rediss://{HOST}:{port}", ca_file="")
    async with tls_before(plain, of_another) as port:
        with pytest.raises(Unavailable, match="certificate verify failed"):
            await redis_says(f"rediss://{HOST}:{port}", ca_file=str(of_another.authority))


async def postgres_says(dsn: str, port: int, options: str) -> int:
    address = urlsplit(dsn)
    user = address.netloc.rpartition("@")[0]
    fronted = urlunsplit(address._replace(netloc=f"{user}@{HOST}:{port}", query=options))
    postgres = Postgres(PostgresOptions(fronted), ladder=ONCE)
    try:
        [row] = await postgres.fetch("SELECT 40 + 2")
        return int(row[0])
    finally:
        await postgres.close()


async def test_postgres_is_spoken_to_in_secret(postgres_dsn: str, good: Papers) -> None:
    async with tls_before(urlsplit(postgres_dsn).port or 0, good, asks_first=True) as port:
        options = f"sslmode=verify-full&sslrootcert={good.authority}"

        assert await postgres_says(postgres_dsn, port, options) == 42


async def test_postgres_that_nobody_vouches_for_is_not_spoken_to(
    postgres_dsn: str, good: Papers, of_another: Papers
) -> None:
    plain = urlsplit(postgres_dsn).port or 0
    for shown, trusted in ((good, of_another), (of_another, of_another)):
        options = f"sslmode=verify-full&sslrootcert={trusted.authority}"
        async with tls_before(plain, shown, asks_first=True) as port:
            with pytest.raises(Unavailable, match="certificate verify failed"):
                await postgres_says(postgres_dsn, port, options)
