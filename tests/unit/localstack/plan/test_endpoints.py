from __future__ import annotations

import os
from pathlib import Path

import pytest

from strider.localstack.plan.endpoints import (
    endpoint_variables,
    external_endpoints,
    mask_secrets,
    read_endpoints,
)
from strider.localstack.process.identity import ProcessIdentity, identify
from strider.localstack.stack_state import READY, STOPPED, ProcessStatus, StackState, write_state


def test_what_the_environment_names_wins_over_the_stack_that_runs_here(tmp_path: Path) -> None:
    endpoints = {"kafka": "127.0.0.1:20001", "redis": "redis://127.0.0.1:20002/0", "api": None}
    write_state(tmp_path / "stack.json", StackState(READY, "now", identify(os.getpid()), endpoints=endpoints))
    environment = {"STRIDER_HOME": str(tmp_path), "REDIS_URL": "redis://elsewhere/0", "POSTGRES_DSN": ""}

    assert read_endpoints(environment, tmp_path) == {
        "kafka": "127.0.0.1:20001",
        "redis": "redis://elsewhere/0",
    }


def test_a_stopped_stack_has_no_endpoints(tmp_path: Path) -> None:
    """Its ports may belong to another process by now."""
    write_state(tmp_path / "stack.json", StackState(STOPPED, "now", endpoints={"kafka": "127.0.0.1:20001"}))

    assert read_endpoints({"STRIDER_HOME": str(tmp_path)}, tmp_path) == {}


def test_what_has_died_with_its_supervisor_has_no_endpoint(tmp_path: Path) -> None:
    """Commands say that there is no broker, instead of waiting for one that cannot answer."""
    gone, lives = ProcessIdentity(os.getpid(), "another boot:1"), identify(os.getpid())
    assert lives
    processes = (
        ProcessStatus("kafka", "server", READY, "now", pid=gone.pid, started=gone.started),
        ProcessStatus("postgres", "server", READY, "now", pid=lives.pid, started=lives.started),
    )
    endpoints = {"kafka": "127.0.0.1:20001", "postgres": "postgresql://127.0.0.1:20002/strider"}
    state = StackState(READY, "now", gone, endpoints=endpoints, processes=processes)
    write_state(tmp_path / "stack.json", state)

    assert read_endpoints({"STRIDER_HOME": str(tmp_path)}, tmp_path) == {
        "postgres": "postgresql://127.0.0.1:20002/strider"
    }


def test_a_named_schema_registry_is_passed_to_the_services() -> None:
    environment = {"SCHEMA_REGISTRY_URL": "http://registry"}

    named = external_endpoints(environment)

    assert named == {"registry": "http://registry"}
    assert endpoint_variables(named).items() >= environment.items()


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        pytest.param("127.0.0.1:20001", "127.0.0.1:20001", id="no-secret"),
        pytest.param("redis://127.0.0.1:20002/0", "redis://127.0.0.1:20002/0", id="url-without-account"),
        pytest.param(
            "postgresql://ann:pa:s@h:5432/db", "postgresql://ann:…@h:5432/db", id="user-and-password"
        ),
        pytest.param("redis://:secret@h/0", "redis://:…@h/0", id="password-alone"),
        pytest.param("https://token@registry", "https://…@registry", id="token"),
        pytest.param("postgresql://ann:a/b@c@h/db", "postgresql://ann:…@h/db", id="unescaped-password"),
        pytest.param("postgresql://ann:a,b@h1,h2/db", "postgresql://ann:…@h1,h2/db", id="two-hosts"),
        pytest.param(
            "https://ann:x@one,https://ben:y@two", "https://ann:…@one,https://ben:…@two", id="two-urls"
        ),
        pytest.param(
            "postgresql://h/db?user=ann&password=x&sslmode=require",
            "postgresql://h/db?user=ann&password=…&sslmode=require",
            id="password-parameter",
        ),
        pytest.param(
            "s3://bucket?region=eu&secret_access_key=x", "s3://bucket?region=eu&secret_access_key=…", id="key"
        ),
    ],
)
def test_passwords_in_addresses_are_masked(address: str, shown: str) -> None:
    assert mask_secrets(address) == shown
