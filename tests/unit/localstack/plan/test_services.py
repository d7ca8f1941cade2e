from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from strider.localstack.plan.services import (
    ServiceKind,
    ServiceProcess,
    copy_name,
    find_services,
    health_reason,
    service_environment,
    setting_digests,
)


def test_a_service_is_started_with_its_endpoints_and_its_own_health_port(tmp_path: Path) -> None:
    unit = ServiceProcess(
        kind=ServiceKind("link-ingestion", "strider.link_ingestion"),
        copy=2,
        health_port=20007,
        directory=tmp_path,
        environment={"REDIS_URL": "redis://127.0.0.1:1/0"},
    )

    launch = unit.launch(log=tmp_path / "log", pid_file=tmp_path / "pid")

    assert unit.name == "link-ingestion-2"
    assert launch.command == (sys.executable, "-P", "-m", "strider.link_ingestion")
    assert launch.environment == {
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "STRIDER_HEALTH_HOST": "127.0.0.1",
        "STRIDER_HEALTH_PORT": "20007",
        "PYTHONUNBUFFERED": "1",
    }


def test_the_first_copy_bears_the_services_own_name() -> None:
    assert [copy_name("fetcher", copy) for copy in (1, 2)] == ["fetcher", "fetcher-2"]


def test_settings_of_the_stack_are_kept_from_the_services() -> None:
    """A service refuses to start with a STRIDER_ variable that it does not know."""
    environment = service_environment(
        {
            "STRIDER_HOME": "x",
            "STRIDER_JARS_URL": "y",
            "STRIDER_SHARDS": "12",
            "REDIS_URL": "mine",
            "STRIDER_OWNER_KEY": "k",
            "STRIDER_OWNER_KEY_FILE": "f",
            "STRIDER_HEADERS_KEY": "k",
            "STRIDER_HEADERS_KEY_FILE": "f",
        },
        {"REDIS_URL": "theirs", "SCHEMA_REGISTRY_URL": None},
    )

    assert environment == {"STRIDER_SHARDS": "12", "REDIS_URL": "theirs"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            json.dumps({"ready": False, "reasons": ["kafka: no answer", "paused: x"]}).encode(),
            "kafka: no answer; paused: x",
            id="ours",
        ),
        pytest.param(b'{"other": 1}', '{"other": 1}', id="another-form"),
        pytest.param(b"<h1>no\n way</h1>", "<h1>no way</h1>", id="no-json"),
        pytest.param(b"[]", "[]", id="a-list"),
        pytest.param(b"x" * 500, "x" * 200, id="long"),
    ],
)
def test_the_reason_is_one_short_line(body: bytes, expected: str) -> None:
    assert health_reason(body) == expected


def test_the_example_pair_is_found_as_examples() -> None:
    """Installed packages say what they are; no list of services is kept anywhere."""
    kinds = {kind.name: kind for kind in find_services()}

    assert kinds["echo"] == ServiceKind("echo", "strider.echo", example=True)
    assert kinds["tally"] == ServiceKind("tally", "strider.tally", example=True)


def test_only_settings_of_services_have_digests() -> None:
    """Passwords are among them: what is kept is a digest."""
    environment = {
        "STRIDER_CONTACT": "mailto:a@example.org",
        "POSTGRES_DSN_FILE": "/run/dsn",
        "FETCHER_PORTS": "7",
        "STRIDER_API_TOKEN": "secret word",
        "STRIDER_CONFIG": "strider.yaml",
        "STRIDER_HOME": "/elsewhere",
        "API_KEY": "of another program",
        "POSTGRES_DB": "of another program",
        "PATH": "/bin",
        "PARSER_WORKERS": "",
    }
    services = tuple(ServiceKind(name, name) for name in ("api", "fetcher", "parser"))

    found = setting_digests(environment, services)

    assert sorted(found) == [
        "FETCHER_PORTS",
        "POSTGRES_DSN_FILE",
        "STRIDER_API_TOKEN",
        "STRIDER_CONFIG",
        "STRIDER_CONTACT",
    ]
    assert "secret word" not in found.values()
    assert (
        setting_digests({**environment, "FETCHER_PORTS": "8"}, services)["FETCHER_PORTS"]
        != found["FETCHER_PORTS"]
    )
