"""The disk of Kafka, PostgreSQL, Redis and the object store is full in the middle of a crawl.

It is a small file system of the test's own. Kafka ends, as its only log directory has failed; PostgreSQL and
Redis refuse writes, or end as well. When there is space again and what has ended is started again, as a
supervisor would, the crawl ends as if nothing had happened.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.messaging.errors import Unavailable
from strider.storage.redis import RedisOptions, connect
from strider.testing.site import EXCLUDED, SiteShape, serve_site
from strider.testing.temp_dirs import temp_server_directory
from tests.processes.waiting import until

from .checks import assert_only_known_urls_were_asked, assert_polite
from .pipeline import DELAY_SECONDS, Ring, Servers

JOB = "full-disk"
SHAPE = SiteShape(hosts=6, pages_per_host=12, slow_seconds=1.0, latency_seconds=0.2, has_excluded=True)
DISK_MB = 1024
FILLER = "filler"
REQUEST_SECONDS = 5.0
END_SECONDS = 300.0

pytestmark = pytest.mark.timeout(900)


@contextlib.contextmanager
def _small_disk(directory: Path) -> Iterator[None]:
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=755", "tmpfs", str(directory)]
    mounted = subprocess.run(command, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("no file system of a given size can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


@pytest.fixture
def disk() -> Iterator[Path]:
    with temp_server_directory() as place:
        directory = place / "disk"
        directory.mkdir()
        with _small_disk(directory):
            yield directory


@pytest.fixture
def ring(disk: Path, tmp_path: Path) -> Iterator[Ring]:
    servers = Servers.start(disk, counts_statements=False)
    ring = Ring(servers, tmp_path, {"OBJECT_STORE_URL": (disk / "objects").as_uri()})
    try:
        yield ring
    finally:
        ring.close()
        servers.close()


def _fill(disk: Path) -> None:
    """Use up all that is free, also what a server that has ended left."""
    for size in (1024 * 1024, 1):
        with (disk / FILLER).open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(size))


async def _until_refused(disk: Path, is_refused: Callable[[], Awaitable[bool]], *, what: str) -> None:
    async def refuses_when_full() -> bool:
        await asyncio.to_thread(_fill, disk)
        return await is_refused()

    await until(refuses_when_full, what=what)


async def _redis_refuses(ring: Ring) -> bool:
    redis = connect(RedisOptions(ring.servers.redis.address))
    try:
        await redis.command("SET", "strider:test:disk", "full")
    except Unavailable as refusal:
        return "MISCONF" in str(refusal)
    finally:
        await redis.close()
    return False


async def _postgres_refuses(ring: Ring) -> bool:
    try:
        connection = await asyncpg.connect(ring.servers.dsn)
    except (OSError, asyncpg.PostgresError):
        return True
    try:
        await connection.execute("CREATE TABLE IF NOT EXISTS disk (text text)")
        await connection.execute("INSERT INTO disk SELECT repeat('x', 8000) FROM generate_series(1, 100)")
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        return True
    finally:
        await connection.close()
    return False


@pytest.mark.fault("F16")
async def test_a_crawl_survives_full_disks_of_all_servers(ring: Ring, disk: Path, tmp_path: Path) -> None:
    """F16: nothing is lost, stored twice or requested too soon, and no service ends."""
    await ring.start_all()
    spec = CrawlSpecDeclared(
        "", scope="any", max_depth=10, exclude=(EXCLUDED,), request_timeout_seconds=REQUEST_SECONDS
    )
    servers = ring.servers
    with serve_site(137, SHAPE, log=tmp_path / "access.log", name=JOB) as site:
        ring.sow(site, job_id=JOB, crawl_spec_id=ring.declare(spec))
        await ring.until_asked(site, more=2 * SHAPE.hosts, seconds=60)
        _fill(disk)
        await until(lambda: servers.kafka.has_ended, what="Kafka ends", tell=ring.tell)
        await _until_refused(disk, lambda: _redis_refuses(ring), what="Redis refuses writes")
        await _until_refused(disk, lambda: _postgres_refuses(ring), what="PostgreSQL refuses writes")
        for service in ring.services.values():
            await service.until_red("kafka")
        (disk / FILLER).unlink()
        for server in (servers.kafka, servers.redis, servers.postgres):
            await asyncio.to_thread(server.start)
        for service in ring.services.values():
            await service.until_ready()
        await ring.until_told(site, JOB, seconds=END_SECONDS)
        pages, decisions = await ring.pages(JOB), await ring.decisions(JOB)

        assert Counter(row["url"] for row in pages) == Counter(site.plan.pages)
        assert {row["url"]: row["reason"] for row in decisions} == site.plan.decided_without_page
        assert_only_known_urls_were_asked(site)
        assert_polite(site, delay_seconds=DELAY_SECONDS)
    assert [name for name, each in ring.services.items() if each.exit_code is not None] == []
