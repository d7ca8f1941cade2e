"""The pipeline with logins: each service has what `schemas/topics` gives it, and that is enough."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from strider.messaging.topics import AccessOptions, apply_access
from strider.testing.site import SiteShape, serve_site
from strider.testing.stack import create_database, start_postgres, start_valkey
from strider.testing.temp_dirs import temp_server_directory
from tests.figures import record_figure
from tests.processes.secured_broker import ADMIN, SecuredBroker, secured_broker
from tests.processes.waiting import until

from .pipeline import DECLARED, SERVICES, Ring, Servers

SHAPE = SiteShape(hosts=2, pages_per_host=6, slow_seconds=0.2, trap_depth=2, has_excluded=True)
CRAWL_SECONDS = 120.0
REFUSALS = ("AuthorizationFailed", "code 29", "code 30", "code 31", "code 53")
"""How the client library and we name a missing permission in a log."""

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SecuredBroker, Ring]]:
    """A broker with an authorizer, and every service under its own user."""
    with temp_server_directory() as place, secured_broker(place / "kafka") as broker:
        postgres, redis = start_postgres(place / "postgres"), start_valkey(place / "redis")
        servers = Servers(broker.running, postgres, redis, create_database(postgres.address))
        ring = None
        try:
            asyncio.run(servers.prepare(counts_statements=False))
            broker.add_users([f"strider-{name}" for name in SERVICES])
            asyncio.run(apply_access(broker.connection(ADMIN), DECLARED, AccessOptions(acls=True)))
            logs: Path = tmp_path_factory.mktemp("logs")
            ring = Ring(servers, logs, login=lambda name: broker.variables(f"strider-{name}"))
            asyncio.run(ring.start_all())
            yield broker, ring
        finally:
            for part in (ring, postgres, redis):
                if part is not None:
                    part.close()


def test_a_crawl_goes_through_with_no_more_than_the_declared_permissions(
    secured: tuple[SecuredBroker, Ring], tmp_path: Path
) -> None:
    _, ring = secured
    with serve_site(77, SHAPE, log=tmp_path / "access.log", name="allowed") as site:
        ring.sow(site)
        seconds = asyncio.run(ring.until_told(site, "adhoc", seconds=CRAWL_SECONDS))
        pages = asyncio.run(ring.count_pages("adhoc"))

    refused = {
        name: line
        for name, service in ring.services.items()
        for line in service.lines()
        if any(word in line for word in REFUSALS)
    }
    record_figure(
        f"pipeline with permissions: services={len(SERVICES)} pages={pages} refusals={len(refused)} "
        f"took={seconds:.0f}s"
    )
    assert pages == len(site.plan.pages)
    assert refused == {}


def test_counts_of_insights_are_kept(secured: tuple[SecuredBroker, Ring]) -> None:
    """Its client is another library, with its own login, groups and a topic that it creates itself."""
    _, ring = secured

    async def has_counted() -> bool:
        return await ring.services["insights"].metric("strider_insights_hosts") > 0

    asyncio.run(until(has_counted, what="insights has counted", tell=ring.tell, seconds=60))


def test_a_service_under_another_services_user_is_not_ready(secured: tuple[SecuredBroker, Ring]) -> None:
    """The reason is a missing permission; nothing is taken for granted because the login succeeded."""
    broker, ring = secured

    async def readiness() -> str:
        parser = ring.services["parser"]
        parser.close()
        intruder = ring.start("parser", broker.variables("strider-validator"))
        try:
            await intruder.until_logged("Health server started")
            return await intruder.until_red("TopicAuthorizationFailed")
        finally:
            intruder.close()

    reason = asyncio.run(readiness())
    assert "pages-fetched" in reason
