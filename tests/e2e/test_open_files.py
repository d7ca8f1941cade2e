"""No service can open a file or a connection in the middle of a crawl, and the end is the same.

The limit of open files of every service is lowered below what it has open, and all connections are lost: to
Kafka, Redis and PostgreSQL, and a worker of the parser. Each must wait without load, and continue when it may
open files again.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import socket
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.runtime.observability import log_events
from strider.storage.redis import RedisOptions, connect
from strider.testing.site import EXCLUDED, SiteShape, serve_site
from tests.figures import record_figure
from tests.processes.open_files import without_new_files
from tests.processes.services import Service
from tests.processes.waiting import until

from .checks import assert_only_known_urls_were_asked, assert_polite
from .pipeline import DELAY_SECONDS, Ring

JOB = "no-files"
SHAPE = SiteShape(hosts=6, pages_per_host=12, slow_seconds=1.0, latency_seconds=0.2, has_excluded=True)
REQUEST_SECONDS = 5.0
MAX_LOAD = 0.3
"""Part of one processor that a service may take while it waits."""
LOAD_SECONDS = 2.0
"""Time over which a load is measured."""
END_SECONDS = 300.0

pytestmark = pytest.mark.timeout(600)


async def _lose_connections(ring: Ring) -> None:
    await asyncio.to_thread(ring.servers.kafka.restart)
    redis = connect(RedisOptions(ring.servers.redis.address))
    await redis.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    await redis.close()
    postgres = await asyncpg.connect(ring.servers.dsn)
    await postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    await postgres.close()
    os.kill(_children(ring.services["parser"].pid)[0], signal.SIGKILL)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _processor_seconds(service: Service) -> float:
    user, system = Path(f"/proc/{service.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _health_address(service: Service) -> tuple[str, int]:
    url = urlsplit(service.events(log_events.HEALTH_SERVER_STARTED.text)[-1]["url"])
    return str(url.hostname), int(url.port or 0)


async def _wait_without_files(ring: Ring) -> dict[str, float]:
    """Lose all connections, wait until each service has reported it, and return the load of each then.

    A service that is in the middle of its work may first end that; one that tries without pauses never rests.
    """
    services = ring.services
    lost_before = {name: len(each.events(log_events.DEPENDENCY_LOST.text)) for name, each in services.items()}
    load = dict.fromkeys(services, math.inf)

    async def is_at_rest() -> bool:
        spent = {name: _processor_seconds(each) for name, each in services.items()}
        began = time.monotonic()
        await asyncio.sleep(LOAD_SECONDS)
        span = time.monotonic() - began
        load.update(
            {name: (_processor_seconds(each) - spent[name]) / span for name, each in services.items()}
        )
        return max(load.values()) <= MAX_LOAD

    with without_new_files([each.pid for each in services.values()]), ExitStack() as clients:
        await _lose_connections(ring)
        for each in services.values():  # which cannot be accepted
            clients.enter_context(socket.create_connection(_health_address(each)))
        await until(
            lambda: all(
                len(each.events(log_events.DEPENDENCY_LOST.text)) > lost_before[name]
                for name, each in services.items()
            ),
            what="every service reports what it cannot reach",
            tell=ring.tell,
        )
        await until(
            is_at_rest, what=f"no load above {MAX_LOAD:g}", tell=lambda: f"load: {load}\n{ring.tell()}"
        )
    return load


@pytest.mark.fault("F4", part="under a crawl, restarted, while no service can connect")
@pytest.mark.fault("F31")
async def test_services_that_can_open_no_file_wait_and_continue(ring: Ring, tmp_path: Path) -> None:
    """F31: every service at once; nothing is lost, stored twice or requested too soon."""
    spec = CrawlSpecDeclared(
        "", scope="any", max_depth=10, exclude=(EXCLUDED,), request_timeout_seconds=REQUEST_SECONDS
    )
    workers = len(_children(ring.services["parser"].pid))
    with serve_site(131, SHAPE, log=tmp_path / "access.log", name=JOB) as site:
        ring.sow(site, job_id=JOB, crawl_spec_id=ring.declare(spec))
        await ring.until_asked(site, more=2 * SHAPE.hosts, seconds=60)
        load = await _wait_without_files(ring)
        record_figure(f"highest load without files={max(load.values()):.2f}")
        for service in ring.services.values():
            await service.until_ready()
        await ring.until_told(site, JOB, seconds=END_SECONDS)
        pages, decisions = await ring.pages(JOB), await ring.decisions(JOB)

        assert Counter(row["url"] for row in pages) == Counter(site.plan.pages)
        assert {row["url"]: row["reason"] for row in decisions} == site.plan.decided_without_page
        assert_only_known_urls_were_asked(site)
        assert_polite(site, delay_seconds=DELAY_SECONDS)
    assert [name for name, each in ring.services.items() if each.exit_code is not None] == []
    assert len(_children(ring.services["parser"].pid)) == workers
