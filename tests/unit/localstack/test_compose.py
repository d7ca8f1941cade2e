"""docker-compose.yml and the Dockerfile name only what exists; no engine is needed to see that."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from strider.localstack.plan.services import find_services
from strider.localstack.plan.stack_keys import STACK_KEYS, StackKey
from strider.localstack.servers.kafka import SINGLE_NODE_SETTINGS
from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.help import settings_classes
from strider.runtime.settings.loader import setting_fields

ROOT = Path(__file__).parents[3]
SERVERS = {"kafka", "postgres", "redis"}
STEPS = {"topics", "migrations"}
CONTAINER_ONLY = {"log.dirs", "listeners", "advertised.listeners", "listener.security.protocol.map"}
"""Broker settings that differ in a container, where it is also reached from outside."""
COMPOSE_ONLY = re.compile(r"^#     ([A-Z_]+)  ", re.MULTILINE)
"""Variables of the file itself, as its head explains them."""


@pytest.fixture(scope="module")
def text() -> str:
    return (ROOT / "docker-compose.yml").read_text()


@pytest.fixture(scope="module")
def compose(text: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


@pytest.fixture(scope="module")
def dockerfile() -> str:
    return (ROOT / "deploy" / "Dockerfile").read_text()


def ours(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: each for name, each in compose["services"].items() if name not in SERVERS}


def unknown_modules(services: dict[str, dict[str, Any]]) -> list[str]:
    """Names of services whose command names a module that cannot be run."""
    return [name for name, each in services.items() if not can_run(each["command"][0])]


def can_run(package: str) -> bool:
    """Whether `python -m` finds something there."""
    found = importlib.util.find_spec(package)
    return found is not None and importlib.util.find_spec(f"{package}.__main__") is not None


def unknown_variables(
    environment: dict[str, str], settings: type[ServiceSettings] = ServiceSettings
) -> set[str]:
    """Variables that this service does not have."""
    return environment.keys() - {knob.variable for knob in setting_fields(settings)}


@pytest.mark.req("S5.1.8", part="the same services")
def test_every_service_that_there_is_has_one_block(compose: dict[str, Any]) -> None:
    """A new service is forgotten here until this test fails."""
    assert ours(compose).keys() - STEPS == {kind.name for kind in find_services()}


def test_examples_start_only_when_named(compose: dict[str, Any]) -> None:
    examples = {kind.name for kind in find_services() if kind.example}

    assert {name for name, each in compose["services"].items() if each.get("profiles")} == examples


def test_every_command_is_a_module_that_runs(compose: dict[str, Any]) -> None:
    assert unknown_modules(ours(compose)) == []
    assert unknown_modules({"ghost": {"command": ["strider.ghost"]}}) == ["ghost"]


def test_all_of_ours_are_one_image(compose: dict[str, Any]) -> None:
    assert {(each["image"], each["build"]["dockerfile"]) for each in ours(compose).values()} == {
        ("strider", "deploy/Dockerfile")
    }


def settings_of(name: str) -> type[ServiceSettings]:
    """Return the settings class of a service; that of all for steps, which are commands."""
    module = f"strider.{name.replace('-', '_')}.settings"
    return next((each for each in settings_classes() if each.__module__ == module), ServiceSettings)


def test_a_container_gets_the_settings_of_its_service_and_no_others(compose: dict[str, Any]) -> None:
    """`.env` has the keys of all: what handles the data of strangers gets none that it does not use."""
    for name, each in ours(compose).items():
        assert "env_file" not in each
        assert each["environment"].keys() == {knob.variable for knob in setting_fields(settings_of(name))}
    assert unknown_variables({"STRIDER_HELTH_PORT": "1"}) == {"STRIDER_HELTH_PORT"}


def test_keys_reach_only_the_services_that_use_them(compose: dict[str, Any]) -> None:
    users = {key.variable: key.services for key in STACK_KEYS} | {"CRAWLER_PROXY_KEY": {"fetcher"}}

    assert users == {
        key: {name for name, each in ours(compose).items() if key in each["environment"]} for key in users
    }


@pytest.mark.parametrize("key", STACK_KEYS, ids=lambda key: key.variable)
def test_each_key_is_required_and_given_to_the_services_that_use_it(
    compose: dict[str, Any], key: StackKey
) -> None:
    """As in the local stack: services that handle what strangers write do without."""
    keys = {name: each["environment"].get(key.variable, "") for name, each in ours(compose).items()}

    assert {name for name, text in keys.items() if text} == key.services
    assert all(keys[name].startswith(f"${{{key.variable}:?") for name in key.services)


def test_every_address_names_a_container(compose: dict[str, Any]) -> None:
    for each in ours(compose).values():
        environment = each["environment"]
        hosts = {environment["KAFKA_BOOTSTRAP_SERVERS"].split(":")[0]}
        hosts |= set(
            re.findall(r"(?:@|//)([a-z]+):\d", environment["POSTGRES_DSN"] + environment["REDIS_URL"])
        )

        assert hosts == SERVERS


def test_every_value_of_the_file_itself_is_explained_and_has_a_default_or_is_required(text: str) -> None:
    used = set(re.findall(r"\$\{([A-Z_]+)", text))

    assert used == set(COMPOSE_ONLY.findall(text))
    assert used == set(re.findall(r"\$\{([A-Z_]+):[-?][^}]+\}", text))


def test_the_broker_is_set_as_the_local_one(compose: dict[str, Any]) -> None:
    """What works here must work there."""
    environment = compose["services"]["kafka"]["environment"]
    said = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): value
        for name, value in environment.items()
        if name != "KAFKA_HEAP_OPTS"
    }

    assert {name: said.get(name) for name in SINGLE_NODE_SETTINGS if name not in CONTAINER_ONLY} == {
        name: value for name, value in SINGLE_NODE_SETTINGS.items() if name not in CONTAINER_ONLY
    }
    assert said.keys() - SINGLE_NODE_SETTINGS.keys() == {
        "controller.quorum.voters",
        "listeners",
        "advertised.listeners",
    }


def test_only_the_loopback_address_is_published(compose: dict[str, Any]) -> None:
    published = [port for each in compose["services"].values() for port in each.get("ports", [])]

    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_whatever_runs_on_has_a_health_check_that_exists(compose: dict[str, Any]) -> None:
    """The path is served by the runtime; the port is the one that is set."""
    served = (ROOT / "libs/runtime/src/strider/runtime/process/health.py").read_text()
    for name, each in compose["services"].items():
        if name in STEPS:
            continue
        check = " ".join(each["healthcheck"]["test"])
        if name in SERVERS:
            continue
        port, path = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+)", check).groups()

        assert port == each["environment"]["STRIDER_HEALTH_PORT"]
        assert f'"{path}": self.' in served


def test_services_wait_for_topics_and_tables(compose: dict[str, Any]) -> None:
    for name, each in ours(compose).items():
        waited_for = each["depends_on"]
        if name not in STEPS:
            assert waited_for.keys() == STEPS
        assert waited_for.keys() <= compose["services"].keys()


def test_the_stop_timeout_of_a_container_is_longer_than_that_of_its_process(compose: dict[str, Any]) -> None:
    grace_seconds = ServiceSettings().run.grace_seconds

    for name, each in ours(compose).items():
        if name not in STEPS:
            assert int(each["stop_grace_period"].removesuffix("s")) > grace_seconds


def test_every_volume_is_declared_and_used(compose: dict[str, Any]) -> None:
    used = {
        volume.split(":")[0] for each in compose["services"].values() for volume in each.get("volumes", [])
    }

    assert used == compose["volumes"].keys()


def test_the_image_is_built_from_all_members_and_runs_without_root(dockerfile: str) -> None:
    members = {path.parent.relative_to(ROOT) for pattern in ("libs/*", "services/*", "examples/*", "cli")
               for path in ROOT.glob(f"{pattern}/pyproject.toml")}  # fmt: skip
    tests_only = {Path("libs/testing")}

    assert {
        Path(each) for each in re.findall(r"\./((?:libs|services|examples)/[\w-]+|cli)\b", dockerfile)
    } == (members - tests_only)
    assert re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE) == ["python:${PYTHON}-slim"] * 2
    assert re.findall(r"^USER (\S+)", dockerfile, re.MULTILINE) == ["10001:10001"]


def test_the_images_own_health_check_and_settings_exist(dockerfile: str) -> None:
    settings = set(re.findall(r"\b(STRIDER_\w+)=", dockerfile))
    served = (ROOT / "libs/runtime/src/strider/runtime/process/health.py").read_text()

    assert settings == {"STRIDER_HEALTH_HOST", "STRIDER_HEALTH_PORT"}
    assert unknown_variables(dict.fromkeys(settings, "")) == set()
    assert "127.0.0.1:8080/livez" in dockerfile
    assert '"/livez": self.livez' in served


def test_what_the_build_copies_is_let_through(dockerfile: str) -> None:
    ignore = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text()
    copied = re.findall(r"^COPY (?!--from)(\S+) ", dockerfile, re.MULTILINE)

    assert copied
    assert [each for each in copied if f"!{each}\n" not in ignore] == []
    assert all((ROOT / each).exists() for each in copied)


SECRET = re.compile(r"\$\{(\w*(?:TOKEN|PASSWORD|KEY|SECRET)\w*)(:?[-?])?")


def defaulted_secrets(text: str) -> list[str]:
    """Secrets that the file fills in where .env does not set them."""
    return [name for name, how in SECRET.findall(text) if how != ":?"]


@pytest.mark.req("S5.1.8", part="no secret has a default")
def test_no_secret_has_a_default(text: str) -> None:
    """A default password is known to everybody who reads the file."""
    assert SECRET.search(text)
    assert defaulted_secrets(text) == []
    assert defaulted_secrets("a: ${API_TOKEN:-strider} ${DB_PASSWORD}") == ["API_TOKEN", "DB_PASSWORD"]
