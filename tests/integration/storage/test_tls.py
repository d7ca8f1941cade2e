"""Stores behind TLS: only a server with a trusted certificate gets a connection."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from strider.messaging.errors import Unavailable
from strider.politeness import RetryPolicy
from strider.runtime.settings.base import RedisSettings
from strider.runtime.settings.types import SecretUrl
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.redis import connect, redis_options

from .tls import HOST, Papers, papers, tls_before

ONCE = RetryPolicy(
    retries=0, first_seconds=0.1, factor=1, cap_seconds=0.1, jitter_seconds=0, deadline_seconds=10
)


@pytest.fixture
def good(tmp_path: Path) -> Papers:
    return papers(tmp_path)


@pytest.fixture
def of_another(tmp_path: Path) -> Papers:
    (tmp_path / "another").mkdir()
    return papers(tmp_path / "another", name="another.test")


async def redis_says(url: str, *, ca_file: str) -> str:
    redis = connect(redis_options(RedisSettings(url=SecretUrl(url), ca_file=ca_file)))
    try:
        await redis.command("SET", "word", "kept")
        return str(await redis.command("GET", "word"))
    finally:
        await redis.close()


async def test_redis_connections_are_encrypted(redis_url: str, good: Papers) -> None:
    async with tls_before(urlsplit(redis_url).port or 0, good) as port:
        said = await redis_says(f"rediss://{HOST}:{port}", ca_file=str(good.authority))

    assert "kept" in said


@pytest.mark.parametrize(
    ("is_trusted", "code", "word"),
    [
        pytest.param(True, 0, "absent", id="trusted"),
        pytest.param(False, 3, "certificate verify failed", id="stranger"),
    ],
)
async def test_commands_trust_whom_the_settings_trust(
    redis_url: str, good: Papers, is_trusted: bool, code: int, word: str
) -> None:
    async with tls_before(urlsplit(redis_url).port or 0, good) as port:
        named = {"REDIS_URL": f"rediss://{HOST}:{port}", "REDIS_CA_FILE": str(good.authority)}
        if not is_trusted:
            del named["REDIS_CA_FILE"]
        ended = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "strider.cli", "frontier", "list", "--shards", "1"],
            env={**os.environ, **named},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    assert (ended.returncode, word in ended.stdout + ended.stderr) == (code, True), ended
    assert "Traceback" not in ended.stderr


async def test_redis_with_an_untrusted_certificate_is_refused(
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
    postgres = Postgres(PostgresOptions(fronted), retry_policy=ONCE)
    try:
        [row] = await postgres.fetch("SELECT 40 + 2")
        return int(row[0])
    finally:
        await postgres.close()


async def test_postgres_connections_are_encrypted(postgres_dsn: str, good: Papers) -> None:
    async with tls_before(urlsplit(postgres_dsn).port or 0, good, asks_first=True) as port:
        options = f"sslmode=verify-full&sslrootcert={good.authority}"

        assert await postgres_says(postgres_dsn, port, options) == 42


async def test_postgres_with_an_untrusted_certificate_is_refused(
    postgres_dsn: str, good: Papers, of_another: Papers
) -> None:
    plain = urlsplit(postgres_dsn).port or 0
    for shown, trusted in ((good, of_another), (of_another, of_another)):
        options = f"sslmode=verify-full&sslrootcert={trusted.authority}"
        async with tls_before(plain, shown, asks_first=True) as port:
            with pytest.raises(Unavailable, match="certificate verify failed"):
                await postgres_says(postgres_dsn, port, options)
