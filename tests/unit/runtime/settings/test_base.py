"""Settings: defaults, and hidden secrets."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from strider.runtime.settings.base import KafkaSettings, RedisSettings, ServiceSettings, secret_values
from strider.runtime.settings.types import SecretUrl, hide_password, hide_secrets, parse_duration


@pytest.mark.req(
    "S1.2.2", part="crawler, database, logs, objects, server; a search index has no settings yet"
)
def test_there_is_one_frozen_structure_per_area() -> None:
    """A service takes the areas that it needs, and nothing changes them on the way."""
    settings = ServiceSettings()

    assert settings.kafka == KafkaSettings(bootstrap_servers=("localhost:9092",))
    areas = {name: getattr(settings, name) for name in ("crawl", "postgres", "logs", "objects", "health")}
    assert [type(area).__name__ for area in areas.values()] == [
        *("CrawlSettings", "PostgresSettings", "LogSettings", "ObjectStoreSettings", "HealthSettings")
    ]
    assert all(area.model_config["frozen"] for area in areas.values())
    with pytest.raises(ValidationError, match="frozen"):
        settings.kafka.security_protocol = "SSL"


def test_building_settings_reads_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests and the embedded mode must not depend on what the machine happens to have set."""
    monkeypatch.setenv("STRIDER_SHARDS", "77")
    monkeypatch.setenv("RUN", '{"shards": 78}')

    assert ServiceSettings().run.shards == 12


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("300", 300.0, id="plain"),
        pytest.param("2.5s", 2.5, id="seconds"),
        pytest.param(" 5m ", 300.0, id="minutes"),
        pytest.param("250ms", 0.25, id="milliseconds"),
        pytest.param("1h", 3600.0, id="hours"),
        pytest.param("1d", 86400.0, id="days"),
        pytest.param(7, 7, id="a-number-already"),
    ],
)
def test_durations_take_a_unit(text: object, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "five", "-1", "5 weeks", "1e3", "inf", "nan", "٣"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a duration"):
        parse_duration(text)


@pytest.mark.parametrize("seconds", [-1.0, float("inf"), float("nan")])
def test_a_stall_threshold_must_be_a_time_that_passes(seconds: float) -> None:
    with pytest.raises(ValidationError):
        ServiceSettings(run={"stall_threshold_seconds": seconds})


@pytest.mark.parametrize("seconds", [0.0, 1.0, 2.999, "2999ms"])
def test_a_stall_threshold_below_what_health_takes_is_refused(seconds: object) -> None:
    """The loop shows once a second that it turns: one busy turn, and a healthy process would be ended."""
    with pytest.raises(ValidationError, match="must be 3 s or more: a healthy process"):
        ServiceSettings(run={"stall_threshold_seconds": seconds})


def test_the_shortest_stall_threshold_is_taken() -> None:
    assert ServiceSettings(run={"stall_threshold_seconds": "3s"}).run.stall_threshold_seconds == 3.0


@pytest.mark.parametrize(
    ("values", "names"),
    [
        pytest.param({"security_protocol": "SASL_SSL"}, "KAFKA_SASL_PASSWORD", id="login-without-password"),
        pytest.param({"ssl_key_file": __file__}, "KAFKA_SSL_CERT_FILE", id="key-without-certificate"),
    ],
)
def test_half_a_login_is_refused_with_the_missing_name(values: dict[str, str], names: str) -> None:
    with pytest.raises(ValidationError, match=names):
        KafkaSettings(**values)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        pytest.param("postgresql://a:b@h:1/d", "postgresql://a:***@h:1/d", id="user-and-password"),
        pytest.param("redis://:b@h", "redis://:***@h", id="password-only"),
        pytest.param("redis://a:b@c@h", "redis://a:***@h", id="at-within-the-password"),
        pytest.param("http://h/?x=a:b@c", "http://h/?x=a:b@c", id="at-within-the-query"),
        pytest.param("http://h:80/p", "http://h:80/p", id="port-is-no-password"),
        pytest.param("redis://:b/c@h/0", "redis://:***@h/0", id="slash-within-the-password"),
        pytest.param("at postgresql://a:b/c@h, and", "at postgresql://a:***@h, and", id="within-a-text"),
    ],
)
def test_a_password_is_taken_out_of_an_address(address: str, shown: str) -> None:
    assert hide_password(address) == shown


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("http://h:4318/v1", "http://h:4318/v1", id="nothing-secret"),
        pytest.param("http://me@h/p", "http://me@h/p", id="user-only"),
        pytest.param("postgresql://a:b/?c#@d@h:1/d", "postgresql://a:***@h:1/d", id="hostile-password"),
        pytest.param("http://h/v1?key=s3cret&s3cret", "http://h/v1?key=***&***", id="query"),
        pytest.param("http://h/?x=a:b@c", "http://h/?x=***", id="at-within-the-query"),
        pytest.param("h:4318/v1?key=s3cret", "h:4318/v1?key=***", id="no-scheme"),
        pytest.param("http://a:s3cret@h?k=s3cret#f", "http://a:***@h?k=***", id="both"),
        pytest.param(f"redis://:{'x/' * 5_000}@h", "redis://:***@h", id="long"),
    ],
)
def test_an_address_is_shown_without_anything_that_may_be_secret(address: str, shown: str) -> None:
    assert hide_secrets(address) == str(SecretUrl(address)) == shown


def test_neither_repr_nor_str_shows_a_secret() -> None:
    """Settings stand in tracebacks."""
    settings = ServiceSettings(
        postgres={"dsn": "postgresql://u:hidden1@h/d"}, kafka={"sasl_password": "hidden2"}
    )

    assert "hidden" not in f"{settings!r} {settings} {settings.postgres.dsn}"
    assert secret_values(settings) == {"hidden1", "hidden2"}


def test_the_password_of_a_broken_address_is_a_secret_too() -> None:
    """A password with a slash makes the address unreadable, and must be scrubbed all the same."""
    redis = RedisSettings.model_construct(url=SecretUrl("redis://:S3cretPa/ss@127.0.0.1:6379/0"))
    settings = ServiceSettings.model_construct(redis=redis)

    assert secret_values(settings) == {"S3cretPa/ss"}
