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

from .rotation import Rotation

BETWEEN_SECONDS: Final = 10.0

_log = logger("proxies")


class ProxyBook:
    """Keeps a rotation and a table alike."""

    def __init__(self, table: ProxyTable, seals: SecretCipher, rotation: Rotation, *, clock: Clock) -> None:
        self._table = table
        self._seals = seals
        self._rotation = rotation
        self._clock = clock
        self._left_out: set[str] = set()

    async def run(self) -> None:
        """Tell and read, for ever."""
        while True:
            await self._clock.sleep(BETWEEN_SECONDS)
            try:
                await self.tell()
                await self.read()
            except Unavailable as failure:
                _log.warning("Proxies Not Told", why=failure.detail)

    async def read(self) -> None:
        """Take the table's list; raises Unavailable."""
        rows = await self._table.load()
        self._rotation.set((proxy, standing_of(row)) for row in rows if (proxy := self._opened(row)))

    async def tell(self) -> None:
        """Write what became of the proxies since the last time; raises Unavailable."""
        told = [(seat, seat.standing) for seat in self._rotation.seats if seat.standing != seat.noted]
        await self._table.record_results(
            replace(
                row_of(seat.proxy, standing),
                success_count=standing.success_count - seat.noted.success_count,
            )
            for seat, standing in told
        )
        for seat, standing in told:
            seat.noted = standing

    async def close(self) -> None:
        """Tell what is left to tell, if it can be told now."""
        try:
            await self.tell()
        except Unavailable as failure:
            _log.warning("Proxies Not Told", why=failure.detail)

    def _opened(self, row: ProxyRow) -> Proxy | None:
        proxy = Proxy(row.protocol, row.host, row.port, row.username)
        try:
            return replace(proxy, password=self._seals.decrypt(row.encrypted_password))
        except DecryptionFailed as failure:
            if proxy.key not in self._left_out:
                _log.error("Proxy Left Out", proxy=proxy.name, why=str(failure))
                self._left_out.add(proxy.key)
            return None


def row_of(proxy: Proxy, standing: Standing, *, sealed_password: str = "") -> ProxyRow:
    """Write a proxy as the table has it."""
    return ProxyRow(
        proxy.protocol,
        proxy.host,
        proxy.port,
        proxy.username,
        sealed_password,
        standing.is_active,
        standing.success_count,
        standing.failure_count,
        standing.average_ms,
        standing.last_used_at,
        standing.last_success_at,
        standing.last_failure_at,
    )


def standing_of(row: ProxyRow) -> Standing:
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
