"""The rotation's proxies from a table, and what became of them back into it, every few seconds.

A database that is down stops nobody: the proxies that are known go on, and what became of them is told
later. A password that cannot be opened leaves its proxy out, and is told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from strider.fetcher.core import Proxy, Standing
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.storage.encryption import DecryptionFailed, SecretCipher
from strider.storage.proxy_table import ProxyRow, ProxyTable

from .pool import ProxyPool

SYNC_SECONDS: Final = 10.0

_log = logger("proxies")


class ProxyTableSync:
    """Keeps a rotation and a table alike."""

    def __init__(self, table: ProxyTable, seals: SecretCipher, rotation: ProxyPool, *, clock: Clock) -> None:
        self._table = table
        self._seals = seals
        self._rotation = rotation
        self._clock = clock
        self._left_out: set[str] = set()

    async def run(self) -> None:
        """Tell and read, for ever."""
        while True:
            await self._clock.sleep(SYNC_SECONDS)
            try:
                await self.save()
                await self.load()
            except Unavailable as failure:
                _log.warning("Proxies Not Told", why=failure.detail)

    async def load(self) -> None:
        """Take the table's list; raises Unavailable."""
        rows = await self._table.load()
        self._rotation.replace_all((proxy, health_of(row)) for row in rows if (proxy := self._opened(row)))

    async def save(self) -> None:
        """Write what became of the proxies since the last time; raises Unavailable."""
        told = [(seat, seat.health) for seat in self._rotation.proxies if seat.health != seat.recorded_health]
        await self._table.record_results(
            replace(
                row_of(seat.proxy, standing),
                success_count=standing.success_count - seat.recorded_health.success_count,
            )
            for seat, standing in told
        )
        for seat, standing in told:
            seat.recorded_health = standing

    async def close(self) -> None:
        """Tell what is left to tell, if it can be told now."""
        try:
            await self.save()
        except Unavailable as failure:
            _log.warning("Proxies Not Told", why=failure.detail)

    def _opened(self, row: ProxyRow) -> Proxy | None:
        proxy = Proxy(row.protocol, row.host, row.port, row.username)
        try:
            return replace(proxy, password=self._seals.decrypt(row.encrypted_password))
        except DecryptionFailed as failure:
            if proxy.key not in self._left_out:
                _log.error("Proxy Left Out", proxy=proxy.display_url, why=str(failure))
                self._left_out.add(proxy.key)
            return None


def row_of(proxy: Proxy, health: Standing, *, sealed_password: str = "") -> ProxyRow:
    """Write a proxy as the table has it."""
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


def health_of(row: ProxyRow) -> Standing:
    """Read how a proxy does."""
    return Standing(
        row.is_active,
        row.success_count,
        row.failure_count,
        row.average_ms,
        row.last_used_at,
        row.last_success_at,
        row.last_failure_at,
    )
