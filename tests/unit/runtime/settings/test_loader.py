"""Sources of values, their precedence, and the messages about wrong ones."""

from __future__ import annotations

from datetime import date
from math import nan
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from strider.api.settings import ApiSettings
from strider.echo.settings import EchoSettings
from strider.fetcher.settings import FetcherSettings
from strider.link_ingestion.settings import LinkIngestionSettings
from strider.runtime.settings.base import CrawlSettings, ServiceSettings, secret_values
from strider.runtime.settings.loader import (
    SHARED_PREFIXES,
    SettingsError,
    load_settings,
    setting_fields,
    validation_message,
)


class NeedySettings(ServiceSettings):
    """A service with a setting without a default."""

    PREFIX: ClassVar[str] = "NEEDY_"

    api_key: str
    """Key of the API."""


def problems(environ: dict[str, str], settings_class: type[ServiceSettings] = EchoSettings) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_settings(settings_class, environ)
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

    loaded = load_settings(EchoSettings, {"STRIDER_CONFIG": str(file), "STRIDER_LOG_LEVEL": "ERROR"})

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

    assert load_settings(EchoSettings, {"STRIDER_CONFIG": str(file)}).settings == EchoSettings()


def test_a_secret_comes_from_a_file(tmp_path: Path) -> None:
    """Containers hand secrets over as files; the newline that editors add is not part of them."""
    secret = tmp_path / "password"
    secret.write_text("s3cret\n")

    loaded = load_settings(EchoSettings, {"KAFKA_SASL_PASSWORD_FILE": str(secret)})

    assert loaded.settings.kafka.sasl_password.get_secret_value() == "s3cret"
    assert loaded.origins["KAFKA_SASL_PASSWORD"] == str(secret)


def test_an_empty_variable_is_not_set() -> None:
    """Compose files hand on what is unset as an empty text."""
    loaded = load_settings(EchoSettings, {"STRIDER_SHARDS": "", "KAFKA_BOOTSTRAP_SERVERS": ""})

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
        pytest.param(
            {"KAFKA_BOOTSTRAP_SERVER": "a:1"},
            "KAFKA_BOOTSTRAP_SERVER: there is no such setting; did you mean KAFKA_BOOTSTRAP_SERVERS?",
            id="shared-prefix-misspelt",
        ),
        pytest.param(
            {"KAFKA_SASL_PASWORD_FILE": "/x"},
            "KAFKA_SASL_PASWORD_FILE: there is no such setting; did you mean KAFKA_SASL_PASSWORD?",
            id="secret-file-misspelt",
        ),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_variable(environ: dict[str, str], line: str) -> None:
    assert problems(environ) == [line]


def test_all_problems_are_reported_at_once() -> None:
    """A person who repairs settings wants to start the process twice, not ten times."""
    found = problems({"STRIDER_SHARDS": "0", "STALL_THRESHOLD": "soon", "STRIDER_X": "1"})

    assert sorted(line.split(":")[0] for line in found) == ["STALL_THRESHOLD", "STRIDER_SHARDS", "STRIDER_X"]


def test_a_wrong_secret_is_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "strider.yaml"
    file.write_text("kafka: {sasl_password: {not: a-text-s3cret}}\n")

    assert "s3cret" not in " ".join(problems({"STRIDER_CONFIG": str(file)}))


def test_a_value_without_a_default_must_be_set() -> None:
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

    assert load_settings(EchoSettings, environ).settings == EchoSettings()


@pytest.mark.parametrize(
    "variable",
    [
        "KAFKA_HOME",
        "KAFKA_OPTS",
        "POSTGRES_DB",
        "POSTGRES_DB_FILE",
        "POSTGRES_USER",
        "REDIS_PORT",
        "SCHEMA_REGISTRY_HOST",
        "OBJECT_STORE_KEY",
    ],
)
def test_names_of_other_programs_trip_no_service(variable: str) -> None:
    """Images of brokers and databases have variables of the same beginnings."""
    assert load_settings(EchoSettings, {variable: "x"}).settings == EchoSettings()


def test_every_shared_prefix_belongs_to_a_setting() -> None:
    assert all(
        any(knob.variable.startswith(each) for knob in setting_fields(EchoSettings))
        for each in SHARED_PREFIXES
    )


BROKERS = "must be host:port, several separated by commas"
HOST = "must be an address with a host and a valid port"
CONTACT = "must be a URL or a mail address"


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        pytest.param("KAFKA_BOOTSTRAP_SERVERS", "a b:c", f"{BROKERS}; 'a' is not", id="broker-blank"),
        pytest.param("KAFKA_BOOTSTRAP_SERVERS", "a:1,b", f"{BROKERS}; 'b' is not", id="broker-no-port"),
        pytest.param("KAFKA_BOOTSTRAP_SERVERS", "a:70000", f"{BROKERS}; 'a:70000'", id="broker-port"),
        pytest.param("KAFKA_SSL_CA_FILE", "/nope", "cannot read file /nope", id="no-such-file"),
        pytest.param("OTEL_EXPORTER_OTLP_ENDPOINT", "zz", "begins with http://", id="collector"),
        pytest.param("KAFKA_BOOTSTRAP_SERVERS", "::1:9092", f"{BROKERS}; '::1:9092'", id="broker-ipv6-bare"),
        pytest.param("KAFKA_BOOTSTRAP_SERVERS", "u:s3cret@h:1", f"{BROKERS}; item 1 is", id="broker-login"),
        pytest.param("KAFKA_BOOTSTRAP_SERVERS", "u:s3cret x@h:1", f"{BROKERS}; item 1 is", id="broker-cut"),
        pytest.param("REDIS_URL", "127.0.0.1:6379", "begins with redis:// or rediss://", id="redis-scheme"),
        pytest.param("REDIS_URL", "redis://:s3cret@", HOST, id="redis-host"),
        pytest.param("REDIS_URL", "redis://:s3cret/x@h:1/0", HOST, id="redis-slash-in-password"),
        pytest.param("REDIS_URL", "redis://h:s3cret", HOST, id="redis-port"),
        pytest.param(
            "POSTGRES_DSN", "http://u:s3cret@h/d", "begins with postgresql://", id="postgres-scheme"
        ),
        pytest.param("POSTGRES_DSN", "postgresql://u:s3cret@h:99999/d", HOST, id="postgres-port"),
        pytest.param(
            "POSTGRES_DSN", "postgresql://u:s3 cret@h/d", "without blanks and control", id="postgres-blank"
        ),
        pytest.param("POSTGRES_DSN", "postgresql://[u:s3cret@h/d", HOST, id="postgres-bracket"),
        pytest.param("OBJECT_STORE_URL", "/var/s3cret", "begins with file:// or s3://", id="objects-path"),
        pytest.param("OBJECT_STORE_URL", "file://s3cret/x", HOST, id="objects-two-slashes"),
        pytest.param("OBJECT_STORE_URL", "s3:///s3cret", HOST, id="objects-no-bucket"),
        pytest.param("OBJECT_STORE_URL", "s3://?host=s3cret", HOST, id="objects-host-in-query"),
        pytest.param("SCHEMA_REGISTRY_URL", "ftp://u:s3cret@h", "begins with http://", id="registry-scheme"),
        pytest.param("STRIDER_CONTACT", "nobody", CONTACT, id="contact-word"),
        pytest.param("STRIDER_CONTACT", "a@b.c\r\nX: y", "must not contain control", id="contact-line-break"),
        pytest.param("STRIDER_USER_AGENT", "x\r\ny", "must not contain control", id="agent-line-break"),
    ],
)
def test_what_is_no_address_is_refused_without_quoting_it(variable: str, value: str, said: str) -> None:
    """It would fail much later otherwise, with a traceback, and a slip may lie within a password."""
    (line,) = problems({variable: value})

    assert line.startswith(f"{variable}: ")
    assert said in line
    assert line.endswith("(from environment)")
    assert "s3cret" not in line


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        pytest.param("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:24579", id="broker"),
        pytest.param("KAFKA_BOOTSTRAP_SERVERS", "kafka-0.kafka.svc:9092, [::1]:9093", id="brokers"),
        pytest.param(
            "POSTGRES_DSN", "postgresql://strider:s3-_%2Fret@127.0.0.1:24581/strider", id="postgres"
        ),
        pytest.param("POSTGRES_DSN", "postgresql://u@a:1,b:2/d?sslmode=require", id="postgres-two-hosts"),
        pytest.param("POSTGRES_DSN", "postgresql:///d?host=/run/postgresql", id="postgres-socket"),
        pytest.param("REDIS_URL", "redis://127.0.0.1:1/0", id="redis"),
        pytest.param("REDIS_URL", "rediss://:p%40ss@[::1]:6379", id="redis-encrypted"),
        pytest.param("REDIS_URL", "unix:///run/redis.sock", id="redis-socket"),
        pytest.param("OBJECT_STORE_URL", "file:///a%20folder/objects", id="folder"),
        pytest.param("OBJECT_STORE_URL", "s3://bucket/prefix", id="s3"),
        pytest.param("OBJECT_STORE_URL", "gs://bucket", id="gs"),
        pytest.param("SCHEMA_REGISTRY_URL", "http://registry/apis/ccompat/v7", id="registry"),
        pytest.param("STRIDER_CONTACT", "https://example.org/bot", id="contact-url"),
        pytest.param("STRIDER_CONTACT", "mailto:bot@example.org", id="contact-mailto"),
        pytest.param("STRIDER_CONTACT", "bot+crawl@example.org", id="contact-mail"),
    ],
)
def test_addresses_as_people_and_stacks_write_them_are_taken(variable: str, value: str) -> None:
    assert load_settings(EchoSettings, {variable: value}).origins[variable] == "environment"


def test_no_two_settings_share_a_variable() -> None:
    names = [knob.variable for knob in setting_fields(EchoSettings)]

    assert len(names) == len(set(names))
    assert all(knob.description for knob in setting_fields(EchoSettings))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        pytest.param(
            {"contact": "nobody"},
            "must be a URL or a mail address, such as https://example.org/bot or bot@example.org",
            id="our own check",
        ),
        pytest.param({"host_delay_seconds": -1}, "should be greater than or equal to 0", id="pydantic's"),
    ],
)
def test_a_sentence_begins_with_what_is_wrong(wrong: dict[str, object], text: str) -> None:
    """How a check refused it is of no use to a person."""
    with pytest.raises(ValidationError) as caught:
        CrawlSettings(**wrong)  # type: ignore[arg-type]

    assert [validation_message(problem) for problem in caught.value.errors()] == [text]


@pytest.mark.parametrize(
    ("bounded", "said", "text"),
    [
        pytest.param(Annotated[float, Field(le=3)], "-NaN", "must be a number, which -NaN is not", id="nan"),
        pytest.param(Annotated[float, Field(ge=3)], nan, "must be a number, which nan is not", id="a-float"),
        pytest.param(Annotated[float, Field(le=3)], "inf", "should be less than or equal to 3", id="inf"),
        pytest.param(
            Annotated[date, Field(le=date(2020, 1, 1))],
            "2021-01-01",
            "should be less than or equal to 2020-01-01",
            id="a-day",
        ),
    ],
)
def test_a_text_that_is_no_number_is_not_reported_as_out_of_bounds(
    bounded: Any, said: object, text: str
) -> None:
    """NaN fails every bound; the message of the first one would be misleading."""
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(bounded).validate_python(said)

    assert [validation_message(problem) for problem in caught.value.errors()] == [text]


SHORT_KEY = (
    "STRIDER_OWNER_KEY: must have 32 characters or more, no blanks at its ends and no control characters; "
    "make one with: openssl rand -hex 32 (from environment)"
)


@pytest.mark.parametrize("key", ["short", "k" * 31, "k" * 31 + " ", "k" * 40 + "\x1b"])
def test_an_owner_key_that_is_too_short_or_cut_is_refused_without_being_shown(key: str) -> None:
    assert problems({"STRIDER_OWNER_KEY": key}, LinkIngestionSettings) == [SHORT_KEY]


def test_the_owner_key_is_read_by_services_that_verify_or_sign_and_ignored_by_others(tmp_path: Path) -> None:
    """All services may share one environment and one file, but the key stays out of most processes."""
    file = tmp_path / "strider.yaml"
    file.write_text(f"owner: {{key: {'k' * 32}}}\n")
    for settings_class in (LinkIngestionSettings, ApiSettings):
        for environ in ({"STRIDER_OWNER_KEY": "k" * 32}, {"STRIDER_CONFIG": str(file)}):
            loaded = load_settings(settings_class, environ).settings
            assert loaded.owner.key.get_secret_value() == "k" * 32
    for environ in ({"STRIDER_OWNER_KEY": "short"}, {"STRIDER_CONFIG": str(file)}):
        assert "k" * 32 not in secret_values(load_settings(EchoSettings, environ).settings)


def test_a_misspelt_owner_key_is_refused_by_its_readers() -> None:
    assert problems({"STRIDER_OWNER_KY": "k" * 32}, LinkIngestionSettings) == [
        "STRIDER_OWNER_KY: there is no such setting; did you mean STRIDER_OWNER_KEY?"
    ]


SHORT_HEADERS_KEY = (
    "STRIDER_HEADERS_KEY: must be keys of 32 characters or more, separated by commas or blanks; make one "
    "with: openssl rand -hex 32 (from environment)"
)


@pytest.mark.parametrize("keys", ["short", "k" * 31, f"{'k' * 32},short", "k" * 40 + "\x1b"])
def test_a_key_of_headers_that_is_too_short_is_refused_without_being_shown(keys: str) -> None:
    assert problems({"STRIDER_HEADERS_KEY": keys}, LinkIngestionSettings) == [SHORT_HEADERS_KEY]


def test_keys_of_headers_are_read_by_services_that_encrypt_or_decrypt_and_ignored_by_others() -> None:
    keys = f"{'k' * 32}, {'l' * 32}"
    for settings_class in (LinkIngestionSettings, ApiSettings, FetcherSettings):
        loaded = load_settings(settings_class, {"STRIDER_HEADERS_KEY": keys}).settings
        assert loaded.headers.key.get_secret_value() == keys
    assert keys not in secret_values(load_settings(EchoSettings, {"STRIDER_HEADERS_KEY": keys}).settings)
