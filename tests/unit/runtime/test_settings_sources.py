"""Where values come from, which one wins, and what is said about the wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from strider.echo.settings import EchoSettings
from strider.runtime.settings import ServiceSettings
from strider.runtime.settings_sources import SettingsError, knobs, load


class NeedySettings(ServiceSettings):
    """A service with a value that nobody can guess."""

    PREFIX: ClassVar[str] = "NEEDY_"

    api_key: str
    """Key of the API."""


def problems(environ: dict[str, str], settings_class: type[ServiceSettings] = EchoSettings) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(settings_class, environ)
    return caught.value.problems


@pytest.mark.req("S1.3.1")
@pytest.mark.parametrize("suffix", ["yaml", "toml"])
def test_the_environment_wins_over_the_file_and_the_file_over_defaults(tmp_path: Path, suffix: str) -> None:
    texts = {
        "yaml": """
crawl: {host_delay_seconds: 3s}
logs: {level: debug}
services: {echo: {answer_prefix: '> '}}
""",
        "toml": """
[crawl]
host_delay_seconds = "3s"
[logs]
level = "debug"
[services.echo]
answer_prefix = "> "
""",
    }
    file = tmp_path / f"strider.{suffix}"
    file.write_text(texts[suffix])

    loaded = load(EchoSettings, {"STRIDER_CONFIG": str(file), "STRIDER_LOG_LEVEL": "ERROR"})

    assert loaded.settings == EchoSettings(
        crawl={"host_delay_seconds": 3.0}, logs={"level": "error"}, answer_prefix="> "
    )
    said = {name: origin for name, origin in loaded.origins.items() if origin != "default"}
    assert said == {
        "STRIDER_HOST_DELAY": str(file),
        "STRIDER_LOG_LEVEL": "environment",
        "ECHO_ANSWER_PREFIX": str(file),
    }


def test_a_file_shared_by_services_may_name_others(tmp_path: Path) -> None:
    file = tmp_path / "strider.yaml"
    file.write_text("services: {tally: {commit_interval_seconds: 1}}\n")

    assert load(EchoSettings, {"STRIDER_CONFIG": str(file)}).settings == EchoSettings()


def test_a_secret_comes_from_a_file(tmp_path: Path) -> None:
    """Containers hand secrets over as files; the newline that editors add is not part of them."""
    secret = tmp_path / "password"
    secret.write_text("s3cret\n")

    loaded = load(EchoSettings, {"KAFKA_SASL_PASSWORD_FILE": str(secret)})

    assert loaded.settings.kafka.sasl_password.get_secret_value() == "s3cret"
    assert loaded.origins["KAFKA_SASL_PASSWORD"] == str(secret)


def test_an_empty_variable_is_not_set() -> None:
    """Compose files hand on what is unset as an empty text."""
    loaded = load(EchoSettings, {"STRIDER_SHARDS": "", "KAFKA_BOOTSTRAP_SERVERS": ""})

    assert loaded.settings == EchoSettings()


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        pytest.param(
            {"STRIDER_HOST_DELLAY": "3"},
            "STRIDER_HOST_DELLAY: there is no such setting; did you mean STRIDER_HOST_DELAY?",
            id="misspelt",
        ),
        pytest.param(
            {"ECHO_NOTHING_LIKE_IT": "3"}, "ECHO_NOTHING_LIKE_IT: there is no such setting", id="unknown"
        ),
        pytest.param(
            {"STRIDER_SHARDS": "many"},
            "STRIDER_SHARDS: should be a valid integer, unable to parse string as an integer "
            "(from environment)",
            id="no-number",
        ),
        pytest.param(
            {"STRIDER_HEALTH_PORT": "70000"},
            "STRIDER_HEALTH_PORT: should be less than or equal to 65535 (from environment)",
            id="out-of-range",
        ),
        pytest.param(
            {"KAFKA_SECURITY_PROTOCOL": "SASL_SSL"},
            "KAFKA_SECURITY_PROTOCOL=SASL_SSL needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD",
            id="half-a-login",
        ),
        pytest.param(
            {"POSTGRES_DSN": "a", "POSTGRES_DSN_FILE": "/b"},
            "POSTGRES_DSN: set twice, as POSTGRES_DSN and as POSTGRES_DSN_FILE; keep one",
            id="twice",
        ),
        pytest.param(
            {"POSTGRES_DSN_FILE": "/nowhere/dsn"},
            "POSTGRES_DSN_FILE: cannot read /nowhere/dsn: No such file or directory",
            id="secret-file-absent",
        ),
        pytest.param(
            {"STRIDER_CONFIG": "/nowhere/strider.toml"},
            "STRIDER_CONFIG: cannot read /nowhere/strider.toml: No such file or directory",
            id="config-absent",
        ),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_variable(environ: dict[str, str], line: str) -> None:
    assert problems(environ) == [line]


def test_everything_wrong_is_said_at_once() -> None:
    """Somebody who repairs settings wants to start the process twice, not ten times."""
    found = problems({"STRIDER_SHARDS": "0", "STALL_THRESHOLD": "soon", "STRIDER_X": "1"})

    assert sorted(line.split(":")[0] for line in found) == ["STALL_THRESHOLD", "STRIDER_SHARDS", "STRIDER_X"]


def test_a_wrong_secret_is_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "strider.yaml"
    file.write_text("kafka: {sasl_password: {not: a-text-s3cret}}\n")

    assert "s3cret" not in " ".join(problems({"STRIDER_CONFIG": str(file)}))


def test_a_value_that_nobody_can_guess_must_be_set() -> None:
    assert problems({}, NeedySettings) == ["NEEDY_API_KEY: must be set: Key of the API."]


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        pytest.param("crawl: {delay: 3}", "there is no setting crawl.delay", id="field"),
        pytest.param("kafka: {bootstrap_server: x}", "did you mean bootstrap_servers?", id="near-field"),
        pytest.param("crwl: {}", "no table of settings", id="area"),
        pytest.param("crawl: 3", "no table of settings", id="not-a-table"),
        pytest.param("[1, 2]", "it must hold one table per area", id="a-list"),
        pytest.param("a: [", "cannot read", id="broken"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(tmp_path: Path, text: str, ending: str) -> None:
    file = tmp_path / "strider.yaml"
    file.write_text(text)

    (line,) = problems({"STRIDER_CONFIG": str(file)})

    assert ending in line
    assert str(file) in line


def test_names_of_the_command_trip_no_service() -> None:
    """The supervisor hands its own environment down."""
    environ = {"STRIDER_HOME": "/x", "STRIDER_CACHE": "/y", "KAFKA_HEAP_OPTS": "-Xmx1g"}

    assert load(EchoSettings, environ).settings == EchoSettings()


def test_no_two_settings_share_a_variable() -> None:
    names = [knob.variable for knob in knobs(EchoSettings)]

    assert len(names) == len(set(names))
    assert all(knob.sentence for knob in knobs(EchoSettings))
