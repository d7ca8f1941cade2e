"""List, test, add and remove proxies.

Tests a proxy as the fetcher uses it. Returns plain objects without passwords; `commands.proxies` prints them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from strider.cli.connections import POSTGRES, open_postgres, require_address
from strider.cli.output import log_to_stderr
from strider.cli.typed_urls import announce
from strider.contracts.generated.enums import FetchOutcome
from strider.fetcher.adapters import FetchFailure
from strider.fetcher.adapters.proxies.table_sync import proxy_row_of
from strider.fetcher.core import Proxy, ProxyHealth, parse_proxy_url
from strider.fetcher.settings import FetcherSettings
from strider.runtime.clocks import SystemClock
from strider.storage.encryption import DecryptionFailed, SecretCipher
from strider.storage.proxy_table import ProxyRow, ProxyTable

from .client import (
    FetchOptions,
    FetchUsageError,
    SingleFetcher,
    load_fetcher_settings,
    parse_url_argument,
)


@dataclass(frozen=True, slots=True)
class ListedProxy:
    """A proxy of the settings or of the table."""

    proxy: Proxy
    row: ProxyRow
    source: str
    """`settings` or `table`."""
    problem: str = ""
    """Why it cannot be used; empty where it can."""


async def list_proxies(dsn: str) -> list[ListedProxy]:
    """Return the proxies of the settings, else those of the table."""
    log_to_stderr("error")
    settings = load_fetcher_settings({})
    if settings.proxy_urls:
        proxies = [parse_proxy_url(url.get_secret_value()) for url in settings.proxy_urls]
        return [ListedProxy(proxy, proxy_row_of(proxy, ProxyHealth()), "settings") for proxy in proxies]
    seals = SecretCipher(settings.proxy_key.get_secret_value())
    async with _open_proxy_table(dsn) as table:
        return [_listed_proxy(row, seals) for row in await table.load()]


async def check_proxy(proxy: ListedProxy, url: str) -> dict[str, Any]:
    """Test a proxy: by a handshake, or by a page where one is given."""
    result: dict[str, Any] = {
        "proxy": proxy.proxy.display_url,
        "username": proxy.proxy.username,
        "works": False,
        "status": 0,
        "error": "",
        "message": proxy.problem,
        "total_ms": 0.0,
    }
    if proxy.problem:
        return result | {"error": "unreadable"}
    began = perf_counter()
    result |= await (_check_page(proxy.proxy, url) if url else _check_handshake(proxy.proxy))
    return result | {"total_ms": round((perf_counter() - began) * 1000, 1)}


async def add_proxies(urls: Sequence[str], dsn: str) -> list[str]:
    """Add proxies to the table; returns their names."""
    seals = SecretCipher(load_fetcher_settings({}).proxy_key.get_secret_value())
    proxies = [parse_proxy_url(url) for url in urls]
    rows = [
        proxy_row_of(proxy, ProxyHealth(), sealed_password=seals.encrypt(proxy.password)) for proxy in proxies
    ]
    async with _open_proxy_table(dsn) as table:
        for row in rows:
            await table.add(row)
    return [proxy.display_url for proxy in proxies]


async def remove_proxies(urls: Sequence[str], dsn: str) -> list[tuple[str, bool]]:
    """Remove proxies from the table; returns their names, and whether they were there."""
    proxies = [parse_proxy_url(url) for url in urls]
    async with _open_proxy_table(dsn) as table:
        return [
            (proxy.display_url, await table.remove(proxy_row_of(proxy, ProxyHealth()))) for proxy in proxies
        ]


def proxy_json(proxy: ListedProxy) -> dict[str, Any]:
    """Return everything about a proxy but its password."""
    row = proxy.row
    return {
        "proxy": proxy.proxy.display_url,
        "protocol": row.protocol,
        "host": row.host,
        "port": row.port,
        "username": row.username,
        "source": proxy.source,
        "is_active": row.is_active and not proxy.problem,
        "trouble": proxy.problem,
        "success_count": row.success_count,
        "failure_count": row.failure_count,
        "average_ms": round(row.average_ms, 1),
        "last_used_at": row.last_used_at,
        "last_success_at": row.last_success_at,
        "last_failure_at": row.last_failure_at,
    }


def _listed_proxy(row: ProxyRow, seals: SecretCipher) -> ListedProxy:
    try:
        password, problem = seals.decrypt(row.encrypted_password), ""
    except DecryptionFailed as failure:
        password, problem = "", str(failure)
    return ListedProxy(Proxy(row.protocol, row.host, row.port, row.username, password), row, "table", problem)


async def _check_handshake(proxy: Proxy) -> dict[str, Any]:
    fetcher = SingleFetcher(_proxy_settings(), clock=SystemClock(), proxy=proxy)
    try:
        await fetcher.check_proxy(proxy)
    except FetchFailure as failure:
        return {"error": str(failure.error_class), "message": failure.message}
    finally:
        await fetcher.close()
    return {"works": True}


async def _check_page(proxy: Proxy, url: str) -> dict[str, Any]:
    settings = _proxy_settings()
    found = announce(parse_url_argument(url, settings))
    fetcher = SingleFetcher(settings, clock=SystemClock(), proxy=proxy)
    try:
        completed = (await fetcher.fetch(found.wire, FetchOptions(follows_redirects=False)))[-1].completed
    finally:
        await fetcher.close()
    if completed.outcome == FetchOutcome.POLICY_BLOCKED:
        raise FetchUsageError(
            f"{url} may not be fetched: {completed.error_message}"
        )  # before any proxy was used
    works = completed.status > 0 and completed.outcome != FetchOutcome.PROXY_FAILED
    return {
        "works": works,
        "status": completed.status,
        "error": "" if works else completed.error_class,
        "message": completed.error_message,
    }


def _proxy_settings() -> FetcherSettings:
    return load_fetcher_settings({}).model_copy(update={"proxies_enabled": True, "proxy_urls": ()})


@asynccontextmanager
async def _open_proxy_table(dsn: str) -> AsyncIterator[ProxyTable]:
    address = require_address(POSTGRES, dsn)
    option = "--dsn" if dsn else ""
    async with open_postgres(address, application="strider-proxies", option=option) as postgres:
        yield ProxyTable(postgres)
