"""`strider doctor` with real servers, with none, and with servers that never answer."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

DEADLINE_SECONDS = 3.0
SERVERS = ("kafka", "postgresql", "redis")
PREPARED = (
    *SERVERS,
    "offsets",
    "migrations",
    "redis-memory",
    "object-store",
    "clock",
    "clock-postgresql",
    "clock-redis",
    "leases",
)
START_SECONDS = 30.0
"""For the interpreter and all libraries, on a busy machine."""


def doctor(folder: Path, *options: str, **environment: str) -> tuple[int, dict[str, Any], float]:
    """Run the command in a folder without a stack; returns exit code, result and seconds."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STRIDER_", "CRAWLER_", "KAFKA_", "POSTGRES_", "REDIS_", "OBJECT_STORE_"))
    }
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "strider.cli", "doctor", "--json", *options],
        cwd=folder,
        env={**inherited, "XDG_CONFIG_HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout), time.monotonic() - began


def statuses(result: dict[str, Any], *names: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for check in result["checks"]:
        if check["name"] in names:
            found.setdefault(check["name"], set()).add(check["status"])
    return found


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never says anything."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(16)
        yield listening.getsockname()[1]


def test_with_nothing_running_there_is_no_fault(tmp_path: Path) -> None:
    code, result, _ = doctor(tmp_path)

    assert (code, result["ok"]) == (0, True), result
    assert statuses(result, "kafka", "postgresql", "redis", "local-stack") == {
        "kafka": {"warning"},
        "postgresql": {"warning"},
        "redis": {"warning"},
        "local-stack": {"ok"},
    }


def test_real_servers_are_well_once_they_are_prepared(
    tmp_path: Path, kafka_bootstrap: str, redis_url: str, database: str
) -> None:
    servers = {
        "KAFKA_BOOTSTRAP_SERVERS": kafka_bootstrap,
        "REDIS_URL": redis_url,
        "POSTGRES_DSN": database,
        "OBJECT_STORE_URL": (tmp_path / "objects").as_uri(),
    }
    subprocess.run(
        [sys.executable, "-m", "strider.cli", "topics", "apply"],
        cwd=tmp_path,
        env={**os.environ, **servers},
        check=True,
        capture_output=True,
    )

    code, result, _ = doctor(tmp_path, "--timeout", "30", **servers)

    assert statuses(result, *PREPARED) == {name: {"ok"} for name in PREPARED}, result
    assert statuses(result, "frontier") == {"frontier": {"warning"}}, "no scheduler runs"
    assert list((tmp_path / "objects").iterdir()) == [], "nothing is left in the store"
    assert code == 0, result


def test_an_empty_database_and_refused_connections_are_faults(tmp_path: Path, postgres_dsn: str) -> None:
    code, result, _ = doctor(
        tmp_path,
        "--timeout",
        "20",
        POSTGRES_DSN=postgres_dsn,
        KAFKA_BOOTSTRAP_SERVERS="127.0.0.1:1",
        REDIS_URL="redis://127.0.0.1:1/0",
    )

    assert (code, result["ok"]) == (1, False)
    assert statuses(result, "kafka", "migrations", "redis", "postgresql") == {
        "kafka": {"fault"},
        "migrations": {"fault"},
        "redis": {"fault"},
        "postgresql": {"ok"},
    }
    [pending] = [check for check in result["checks"] if check["name"] == "migrations"]
    assert pending["remedy"] == "strider migrate up"


def test_servers_that_never_respond_cost_the_deadline_and_no_more(tmp_path: Path, silent_port: int) -> None:
    place = f"127.0.0.1:{silent_port}"
    code, result, seconds = doctor(
        tmp_path,
        "--timeout",
        str(DEADLINE_SECONDS),
        KAFKA_BOOTSTRAP_SERVERS=place,
        POSTGRES_DSN=f"postgresql://me:my-word@{place}/x",
        REDIS_URL=f"redis://:my-word@{place}/0",
    )

    assert code == 1
    assert statuses(result, *SERVERS) == {name: {"fault"} for name in SERVERS}
    assert seconds < DEADLINE_SECONDS + START_SECONDS
    assert "my-word" not in json.dumps(result)


def test_a_server_that_evicts_keys_is_a_fault(tmp_path: Path, redis_url: str) -> None:
    cli = [sys.executable, "-c", _SET_POLICY, redis_url]
    subprocess.run([*cli, "allkeys-lru"], check=True, timeout=60)
    try:
        _, result, _ = doctor(tmp_path, "--timeout", "20", REDIS_URL=redis_url)
    finally:
        subprocess.run([*cli, "noeviction"], check=True, timeout=60)

    assert statuses(result, "redis-memory") == {"redis-memory": {"fault"}}


_SET_POLICY = """
import sys, redis
redis.from_url(sys.argv[1]).config_set("maxmemory-policy", sys.argv[2])
"""


def test_people_get_a_table_with_what_to_do(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "strider.cli", "doctor"],
        cwd=tmp_path,
        env={**os.environ, "STRIDER_HOME": str(tmp_path), "STRIDER_SHARD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[0].split() == ["status", "check", "finding"]
    assert any(line.startswith("fault") and "did you mean STRIDER_SHARDS?" in line for line in lines)
    assert "1 fault" in lines[-1]


def test_an_invalid_setting_is_a_fault_of_the_settings_alone(tmp_path: Path) -> None:
    """Kafka is not at fault, whether or not it runs."""
    servers = {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"}

    code, result, _ = doctor(tmp_path, STRIDER_HOST_DELAY="soon", **servers)

    assert code == 1
    assert statuses(result, "settings", "kafka") == {"settings": {"ok", "fault"}, "kafka": {"warning"}}
