"""`strider up` with nothing else said: every service that is installed, and a page that goes all the way."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from strider.localstack.plan.services import find_services
from strider.testing.site import SiteShape, serve_site
from strider.testing.temp_dirs import temp_server_directory

from .command import Command, a_stack, wait_for

SERVICES = {kind.name for kind in find_services() if not kind.example}

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def ring() -> Iterator[Command]:
    settings = {"STRIDER_ALLOW_PRIVATE": "true", "STRIDER_HOST_DELAY": "0.1"}
    with temp_server_directory() as place, a_stack(place, **settings) as command:
        yield command


@pytest.mark.req("S4.11.4")
def test_every_service_is_up_and_shown(ring: Command) -> None:
    states = {each.name: each.state for each in ring.state().processes}

    assert states == {
        **dict.fromkeys([*SERVICES, "kafka", "postgres", "redis"], "ready"),
        **dict.fromkeys(["topics", "migrations"], "done"),
    }
    assert ring.status()["endpoints"]["api"].startswith("http://127.0.0.1:")


@pytest.mark.req("S3.22.1")
@pytest.mark.req("S3.4.2", part="stored pages")
def test_a_seed_from_the_command_line_comes_out_of_the_api(ring: Command, tmp_path: Path) -> None:
    """What the stack was started with reaches the services: without it a loopback page would be refused."""
    shape = SiteShape(hosts=1, pages_per_host=1, is_plain=True)
    with serve_site(1, shape, log=tmp_path / "access.log", name="stack") as site:
        (url,) = site.plan.seeds
        ring.must("seeds", "add", url)

        assert wait_for(lambda: url in pages_of(ring)), ring.logs()


def pages_of(ring: Command) -> list[str]:
    """Ask the API which pages there are."""
    address = ring.state().endpoints["api"]
    with urllib.request.urlopen(f"{address}/api/v1/pages", timeout=5) as answer:
        told = json.load(answer)
    return [page["url"] for page in told["items"]]
