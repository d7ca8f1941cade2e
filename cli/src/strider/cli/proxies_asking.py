"""What `strider proxies` does: reads the list, tries a proxy as the fetcher would, writes the table.

Gives plain objects, without passwords; how they are shown is `proxies`'.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from strider.contracts.generated.enums import FetchOutcome
from strider.fetcher.adapters import FetchFailure
from strider.fetcher.adapters.proxies.table_sync import row_of
from strider.fetcher.core import Proxy, Standing, parse_proxy_url
from strider.fetcher.settings import FetcherSettings
from strider.localstack.plan.endpoints import read_endpoints
from strider.messaging.errors import StartRefused
from strider.runtime.clocks import SystemClock
from strider.storage.encryption import DecryptionFailed, SecretCipher
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.proxy_table import ProxyRow, ProxyTable

from .fetching import BadAsking, SingleFetches, Wanted, quiet_logs, read_url, settings_of


@dataclass(frozen=True, slots=True)
class Known:
    """A proxy that is listed somewhere."""

    proxy: Proxy
    row: ProxyRow
    source: str
    """settings or table."""
    trouble: str = ""
    """Why it cannot be used."""


async def known(dsn: str) -> list[Known]:
    """List proxies: the settings', else the table's."""
    quiet_logs()
    settings = settings_of({})
    if settings.proxy_urls:
        proxies = [parse_proxy_url(url.get_secret_value()) for url in settings.proxy_urls]
        return [Known(proxy, row_of(proxy, Standing()), "settings") for proxy in proxies]
    seals = SecretCipher(settings.proxy_key.get_secret_value())
    async with _table(dsn) as table:
        return [_opened(row, seals) for row in await table.load()]


async def tried(one: Known, url: str) -> dict[str, Any]:
    """Try a proxy, with a page where one is named."""
    told: dict[str, Any] = {
        "proxy": one.proxy.display_url,
        "username": one.proxy.username,
        "works": False,
        "status": 0,
        "error": "",
        "message": one.trouble,
        "total_ms": 0.0,
    }
    if one.trouble:
        return told | {"error": "unreadable"}
    began = perf_counter()
    told |= await (_fetched(one.proxy, url) if url else _greeted(one.proxy))
    return told | {"total_ms": round((perf_counter() - began) * 1000, 1)}


async def added(urls: Sequence[str], dsn: str) -> list[str]:
    """Put proxies into the table; gives their names."""
    seals = SecretCipher(settings_of({}).proxy_key.get_secret_value())
    proxies = [parse_proxy_url(url) for url in urls]
    rows = [row_of(proxy, Standing(), sealed_password=seals.encrypt(proxy.password)) for proxy in proxies]
    async with _table(dsn) as table:
        for row in rows:
            await table.add(row)
    return [proxy.display_url for proxy in proxies]


async def removed(urls: Sequence[str], dsn: str) -> list[tuple[str, bool]]:
    """Take proxies out of the table; gives their names, and whether they were there."""
    proxies = [parse_proxy_url(url) for url in urls]
    async with _table(dsn) as table:
        return [(proxy.display_url, await table.remove(row_of(proxy, Standing()))) for proxy in proxies]


def object_of(one: Known) -> dict[str, Any]:
    """Say everything about a proxy but its password."""
    row = one.row
    return {
        "proxy": one.proxy.display_url,
        "protocol": row.protocol,
        "host": row.host,
        "port": row.port,
        "username": row.username,
        "source": one.source,
        "is_active": row.is_active and not one.trouble,
        "trouble": one.trouble,
        "success_count": row.success_count,
        "failure_count": row.failure_count,
        "average_ms": round(row.average_ms, 1),
        "last_used_at": row.last_used_at,
        "last_success_at": row.last_success_at,
        "last_failure_at": row.last_failure_at,
    }


def _opened(row: ProxyRow, seals: SecretCipher) -> Known:
    try:
        password, trouble = seals.decrypt(row.encrypted_password), ""
    except DecryptionFailed as failure:
        password, trouble = "", str(failure)
    return Known(Proxy(row.protocol, row.host, row.port, row.username, password), row, "table", trouble)


async def _greeted(proxy: Proxy) -> dict[str, Any]:
    fetches = SingleFetches(_with_proxies(), clock=SystemClock(), proxy=proxy)
    try:
        await fetches.greet(proxy)
    except FetchFailure as failure:
        return {"error": str(failure.error_class), "message": failure.message}
    finally:
        await fetches.close()
    return {"works": True}


async def _fetched(proxy: Proxy, url: str) -> dict[str, Any]:
    settings = _with_proxies()
    found = read_url(url, settings)
    if not isinstance(found, str):
        raise BadAsking(f"{url} may not be asked: {found.reason}")
    fetches = SingleFetches(settings, clock=SystemClock(), proxy=proxy)
    try:
        told = (await fetches.fetch(found, Wanted(follows=False)))[-1].told
    finally:
        await fetches.close()
    if told.outcome == FetchOutcome.POLICY_BLOCKED:
        raise BadAsking(f"{url} may not be asked: {told.error_message}")  # no proxy has been asked yet
    works = told.status > 0 and told.outcome != FetchOutcome.PROXY_FAILED
    return {
        "works": works,
        "status": told.status,
        "error": "" if works else told.error_class,
        "message": told.error_message,
    }


def _with_proxies() -> FetcherSettings:
    return settings_of({}).model_copy(update={"proxies_enabled": True, "proxy_urls": ()})


@asynccontextmanager
async def _table(dsn: str) -> AsyncIterator[ProxyTable]:
    address = dsn or read_endpoints(os.environ, Path.cwd()).get("postgres", "")
    if not address:
        raise StartRefused("no database is named: give --dsn, set POSTGRES_DSN, or run strider up")
    postgres = None
    try:
        postgres = Postgres(PostgresOptions(address, application="strider-proxies"))
        yield ProxyTable(postgres)
    except StartRefused as refused:
        # An address that is none may come to light with the first connection.
        raise StartRefused(str(refused).replace("POSTGRES_DSN", "--dsn") if dsn else str(refused)) from None
    finally:
        if postgres is not None:
            await postgres.close()
