"""What the containers run, run without them: each command of docker-compose.yml, with its variables."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from strider.localstack.plan.stack_keys import STACK_KEYS
from strider.localstack.servers.ports import choose_ports
from strider.testing.owner import OWNER_KEY
from strider.testing.stack import ServerStack, create_database, drop_database

from .command import wait_for

ROOT = Path(__file__).parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVERS = {"kafka", "postgres", "redis"}
RUNNING = sorted(
    name for name, each in COMPOSE["services"].items() if each.get("healthcheck") and name not in SERVERS
)

pytestmark = pytest.mark.timeout(300)

SAYS_RUNNING = '"event": "Service running"'


def _environment(name: str, stack: ServerStack, dsn: str, place: Path) -> dict[str, str]:
    """The block's own variables, with the test's servers in the place of the containers."""
    said = {key for key, value in COMPOSE["services"][name]["environment"].items() if value is not None}
    here = {
        "KAFKA_BOOTSTRAP_SERVERS": stack.kafka.address,
        "POSTGRES_DSN": dsn,
        "REDIS_URL": stack.redis.address,
        "OBJECT_STORE_URL": place.as_uri(),
        "STRIDER_HEALTH_HOST": "127.0.0.1",
        "STRIDER_HEALTH_PORT": str(choose_ports(("health",), place, remembered={})["health"]),
    }
    here |= {key.variable: OWNER_KEY for key in STACK_KEYS if name in key.services}
    if name == "topics":
        here |= {"KAFKA_PAGES_GB": "1"}
    if name == "api":
        here |= {"STRIDER_API_HOST": "127.0.0.1", "STRIDER_API_PORT": "0"}
    assert said == here.keys()
    return {"PATH": os.environ["PATH"], **here}


def _entrypoint() -> list[str]:
    """The image's entry point, with the Python of these tests."""
    (line,) = (
        line
        for line in (ROOT / "deploy/Dockerfile").read_text().splitlines()
        if line.startswith("ENTRYPOINT")
    )
    words: list[str] = yaml.safe_load(line.removeprefix("ENTRYPOINT "))
    assert words[0] == "python"
    return [sys.executable, *words[1:]]


@pytest.mark.req(
    "S3.16.1", part="the API and every service of the compose file, run without containers; no frontend"
)
@pytest.mark.req("S5.1.8", part="each command of the file starts its part, without containers")
def test_topics_and_tables_are_made_and_every_service_becomes_healthy(
    stack: ServerStack, tmp_path: Path
) -> None:
    dsn = create_database(stack.postgres.address)
    try:
        for name in ("topics", "migrations"):
            done = subprocess.run(
                [*_entrypoint(), *COMPOSE["services"][name]["command"]],
                cwd=tmp_path,
                env=_environment(name, stack, dsn, tmp_path),
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        for name in RUNNING:
            _run_until_healthy(name, stack, dsn, tmp_path / name)
    finally:
        drop_database(dsn)


def _run_until_healthy(name: str, stack: ServerStack, dsn: str, place: Path) -> None:
    place.mkdir()
    environment = _environment(name, stack, dsn, place)
    block = COMPOSE["services"][name]
    check = [sys.executable, *block["healthcheck"]["test"][2:]]
    check[-1] = check[-1].replace(
        block["environment"]["STRIDER_HEALTH_PORT"], environment["STRIDER_HEALTH_PORT"]
    )
    log = place / "log"
    with (
        log.open("w") as file,
        subprocess.Popen(
            [*_entrypoint(), *block["command"]], cwd=place, env=environment, stdout=file, stderr=file
        ) as running,
    ):
        try:
            # Each check is a Python of its own: before there is anything to hear it only takes time away.
            assert wait_for(lambda: running.poll() is not None or SAYS_RUNNING in log.read_text())
            healthy = wait_for(
                lambda: (
                    running.poll() is not None
                    or subprocess.run(check, check=False, capture_output=True).returncode == 0
                )
            )
            assert healthy, log.read_text()
            assert running.poll() is None, log.read_text()
        finally:
            running.send_signal(signal.SIGTERM)
    assert running.returncode == 0, f"{shlex.join(block['command'])}: {log.read_text()}"
