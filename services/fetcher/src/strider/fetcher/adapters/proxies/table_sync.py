"""Synchronizes the proxy pool with its table in PostgreSQL.

An unavailable database stops nothing: the known proxies are used, and their health is saved later. A proxy
whose password cannot be decrypted is skipped and logged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from strider.fetcher import log_events
from strider.fetcher.core import Proxy, ProxyHealth
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.storage.encryption import DecryptionFailed, SecretCipher
from strider.storage.proxy_table import ProxyRow, ProxyTable

from .pool import ProxyPool

SYNC_SECONDS: Final = 10.0

_log = logger("proxies")


class ProxyTableSync:
    """Keeps a pool and its table equal."""

    def __init__(self, table: ProxyTable, seals: SecretCipher, pool: ProxyPool, *, clock: Clock) -> None:
        self._table = table
        self._seals = seals
        self._pool = pool
        self._clock = clock
        self._undecryptable: set[str] = set()

    async def run(self) -> None:
        """Save and load every few seconds, until cancelled."""
        while True:
            await self._clock.sleep(SYNC_SECONDS)
            try:
                await self.save()
                await self.load()
            except Unavailable as failure:
                _log.emit(log_events.PROXY_TABLE_NOT_UPDATED, why=failure.detail)

    async def load(self) -> None:
        """Load the proxies of the table; raises Unavailable."""
        rows = await self._table.load()
        self._pool.replace_all((proxy, health_of(row)) for row in rows if (proxy := self._decrypt(row)))

    async def save(self) -> None:
        """Save the health of proxies that has changed since the last time; raises Unavailable."""
        changed = [
            (pooled, pooled.health)
            for pooled in self._pool.proxies
            if pooled.health != pooled.recorded_health
        ]
        await self._table.record_results(
            replace(
                proxy_row_of(pooled.proxy, health),
                success_count=health.success_count - pooled.recorded_health.success_count,
            )
            for pooled, health in changed
        )
        for pooled, health in changed:
            pooled.recorded_health = health

    async def close(self) -> None:
        """Save what has changed, if the database is available."""
        try:
            await self.save()
        except Unavailable as failure:
            _log.emit(log_events.PROXY_TABLE_NOT_UPDATED, why=failure.detail)

    def _decrypt(self, row: ProxyRow) -> Proxy | None:
        proxy = Proxy(row.protocol, row.host, row.port, row.username)
        try:
            return replace(proxy, password=self._seals.decrypt(row.encrypted_password))
        except DecryptionFailed as failure:
            if proxy.key not in self._undecryptable:
                _log.emit(log_events.PROXY_PASSWORD_NOT_DECRYPTED, proxy=proxy.display_url, why=str(failure))
                self._undecryptable.add(proxy.key)
            return None


def proxy_row_of(proxy: Proxy, health: ProxyHealth, *, sealed_password: str = "") -> ProxyRow:
    """Return a proxy and its health as a row of the table."""
    return ProxyRow(
        proxy.protocol,
        proxy.host,
        proxy.port,
        proxy.username,
        sealed_password,
        health.is_active,
        health.success_count,
        health.failure_count,
        health.average_ms,
        health.last_used_at,
        health.last_success_at,
        health.last_failure_at,
    )


def health_of(row: ProxyRow) -> ProxyHealth:
    """Return the health stored in a row."""
    return ProxyHealth(
        row.is_active,
        row.success_count,
        row.failure_count,
        row.average_ms,
        row.last_used_at,
        row.last_success_at,
        row.last_failure_at,
    )
