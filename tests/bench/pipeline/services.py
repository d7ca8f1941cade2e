"""The whole pipeline on real servers, measured from outside: rows in the table, CPU time of each process."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import asyncpg

from strider.testing.site import ServedSite
from tests.e2e.pipeline import RINGS, Ring, Servers
from tests.processes.waiting import until

from .rivals import Run

TICKS: Final = os.sysconf("SC_CLK_TCK")
READY_SECONDS: Final = 120.0
CRAWL_SECONDS: Final = 300.0
LOOK_SECONDS: Final = 0.5
COUNT: Final = "SELECT count(*) FROM crawled_pages WHERE job_id = $1"
SERVERS: Final = ("kafka", "postgres", "redis")


class Pipeline:
    """Every service and server, ready to crawl one site after the other."""

    def __init__(self, servers: Servers, place: Path) -> None:
        self._servers = servers
        self._ring = Ring(
            servers,
            place,
            {"STRIDER_HOST_DELAY": "0"},
            names=RINGS,
        )

    def start(self) -> Mapping[str, float]:
        """Start all services; gives the CPU seconds that each took until all were ready."""
        asyncio.run(self._ring.start_all())
        children = _children()
        return {name: _cpu_seconds(service.pid, children) for name, service in self._ring.services.items()}

    def close(self) -> None:
        """End them."""
        self._ring.close()

    def crawl(self, site: ServedSite, job_id: str) -> tuple[Run, Mapping[str, float]]:
        """Crawl a site, from its seed to its last row; everybody is up and has joined before.

        The run counts our own services, the mapping has the CPU seconds of everybody.
        """
        return asyncio.run(self._crawl(site, job_id))

    async def _crawl(self, site: ServedSite, job_id: str) -> tuple[Run, Mapping[str, float]]:
        pages = len(site.plan.pages)
        before, began = self._cpu(site), time.monotonic()
        # As far as the others read a page: title, description, text and links.
        self._ring.sow(site, job_id=job_id, exclude=[], extraction="basic")
        await self._until_stored(job_id, pages)
        wall_seconds = time.monotonic() - began
        spent = {name: after - before[name] for name, after in self._cpu(site).items()}
        own = sum(seconds for name, seconds in spent.items() if name in self._ring.services)
        return Run(pages, wall_seconds, own), spent

    async def _until_stored(self, job_id: str, pages: int) -> None:
        """Look now and then over one connection: more or newer ones would be measured too."""
        connection = await asyncpg.connect(self._servers.dsn)

        async def is_stored() -> bool:
            await asyncio.sleep(LOOK_SECONDS)
            return bool(await connection.fetchval(COUNT, job_id) >= pages)

        try:
            await until(is_stored, what=f"{pages} pages", tell=self._ring.tell, seconds=CRAWL_SECONDS)
        finally:
            await connection.close()

    def _cpu(self, site: ServedSite) -> dict[str, float]:
        pids = {name: service.pid for name, service in self._ring.services.items()}
        pids |= {name: getattr(self._servers, name).pid for name in SERVERS} | {"site": site.pid}
        children = _children()
        return {name: _cpu_seconds(pid, children) for name, pid in pids.items()}


def _children() -> Mapping[int, list[int]]:
    found: dict[int, list[int]] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdecimal() and (fields := _fields(int(place.name))):
            found.setdefault(int(fields[1]), []).append(int(place.name))
    return found


def _cpu_seconds(pid: int, children: Mapping[int, list[int]]) -> float:
    """CPU time of a process with all that it started, whether they still live or not."""
    fields = _fields(pid)
    own = sum(int(field) for field in fields[11:15]) / TICKS if fields else 0.0
    return own + sum(_cpu_seconds(child, children) for child in children.get(pid, ()))


def _fields(pid: int) -> list[str]:
    """Fields of /proc/PID/stat behind the name, which may contain anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
