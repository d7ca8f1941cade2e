"""`strider up` with nothing else said: every service that is installed, and a page that goes all the way."""

from __future__ import annotations

import json
import stat
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from strider.localstack.plan.services import find_services
from strider.localstack.plan.stack_keys import HEADERS_KEY, JWT_SECRET, OWNER_KEY, StackKey
from strider.testing.site import SiteShape, serve_site
from strider.testing.temp_dirs import temp_server_directory
from tests.e2e.hostile_producer.attackers import PAGE, attacker_site, robots_allowing

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
        ring.must("seeds", "add", url, "--job", "news")

        assert wait_for(lambda: url in pages_of(ring)), ring.logs()
        assert pages_of(ring)[url] == "news", "signed with the key of the stack: its names are an owner's"


@pytest.mark.parametrize("key", [OWNER_KEY, JWT_SECRET], ids=lambda key: key.variable)
def test_a_key_is_private_and_given_to_the_services_that_use_it(ring: Command, key: StackKey) -> None:
    """Other services handle what strangers write; the file is readable for its user alone."""
    file, text = key.path(ring.home), key.read(ring.home)
    holders = {
        each.name
        for each in ring.state().processes
        if each.pid and f"{key.variable}={text}".encode() in environment_of(each.pid).split(b"\0")
    }

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(text) == 64
    assert holders == key.services
    assert text not in ring.logs()


@pytest.mark.fault("A7", part="strider up")
def test_a_login_is_encrypted_with_the_key_of_the_stack(ring: Command) -> None:
    """`strider seeds add` finds the key; of the services only those have it that encrypt or decrypt."""
    key, secret = HEADERS_KEY.path(ring.home).read_text().strip(), "Bearer 3ac9-of-the-owner"
    with attacker_site(lambda path: robots_allowing(path) or PAGE, address="127.9.7.1") as site:
        url = f"{site.origin}/members"
        ring.must("seeds", "add", url, "--job", "members", "--header", f"Authorization: {secret}")
        assert wait_for(lambda: url in pages_of(ring)), ring.logs()

    holders = {
        each.name
        for each in ring.state().processes
        if each.pid and f"STRIDER_HEADERS_KEY={key}".encode() in environment_of(each.pid).split(b"\0")
    }
    assert set(site.headers("Authorization")) == {secret}
    assert holders == {"api", "fetcher", "link-ingestion"}
    assert stat.S_IMODE(HEADERS_KEY.path(ring.home).stat().st_mode) == 0o600
    assert key not in ring.logs()
    assert secret not in ring.logs()


def environment_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def pages_of(ring: Command) -> dict[str, str]:
    """Ask the API which pages there are: the job of each URL."""
    address = ring.state().endpoints["api"]
    token = ring.must("token").strip()
    request = urllib.request.Request(f"{address}/api/v1/pages", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        told = json.load(answer)
    return {page["url"]: page["job_id"] for page in told["items"]}
