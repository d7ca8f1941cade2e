"""One pipeline for all attacks, with the settings of a deployment that takes raw seeds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from strider.fetcher.settings import WEB_PORTS
from strider.testing.named_sites import NamedSites, named_sites
from strider.testing.owner import OWNER_SETTINGS
from tests.e2e.pipeline import Ring, running_ring

from .neighbours import DELAY_SECONDS, Stage

MAX_HOSTS = 12
"""Hosts of one domain in a run; all other hosts here are addresses, which are domains of their own."""

LAST_SYSTEM_PORT = 1023
SEARCH_DOMAIN = "inner.test"
"""What the resolver's configuration appends to names; a fetcher must not."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let these tests run beside no others, which would change the pace that they measure."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.paced)


SETTINGS = {
    **OWNER_SETTINGS,
    "SCHEDULER_MAX_HOSTS_PER_DOMAIN": str(MAX_HOSTS),
    "STRIDER_HOST_DELAY": f"{DELAY_SECONDS:g}",
    "SCHEDULER_IN_FLIGHT_PER_SHARD": "8",
}
"""Few requests in flight for each shard, so that a flood of some hundred hosts fills all of them."""


@pytest.fixture(scope="package")
def sites_by_name() -> Iterator[NamedSites]:
    with named_sites([port for port in WEB_PORTS if port > LAST_SYSTEM_PORT]) as sites:
        yield sites


@pytest.fixture(scope="package")
def open_ring(sites_by_name: NamedSites) -> Iterator[Ring]:
    """A pipeline that knows one name server, and a search domain as machines of a cluster have it."""
    settings = {
        **SETTINGS,
        "FETCHER_DNS_SERVERS": sites_by_name.server.address,
        "LOCALDOMAIN": SEARCH_DOMAIN,
    }
    with running_ring(settings, counts_statements=False) as ring:
        yield ring


@pytest.fixture
def stage(open_ring: Ring, tmp_path: Path) -> Stage:
    return Stage(open_ring, tmp_path)
