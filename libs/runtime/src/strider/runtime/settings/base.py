"""Settings classes, one frozen class per area, with their defaults.

They are gathered in `ServiceSettings`, from which each service derives its own. A field's variable is its
area's prefix and its name, or what `EnvironmentVariable` says; the sentence beneath a field is its help text,
its line in `.env.example` and in the table of the docs. Where values come from (file, environment, secret
files) is known to `loader`: building one of these classes reads nothing.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from .types import (
    ContactAddress,
    Endpoints,
    EnvironmentVariable,
    HeaderText,
    ObjectsUrl,
    OwnerKey,
    PositiveSeconds,
    PostgresUrl,
    ReadableFile,
    RedisUrl,
    RequiredAddress,
    Seconds,
    SecretKeys,
    SecretUrl,
    StallSeconds,
    WebUrl,
    lowercase,
    uppercase,
)


class SettingsArea(BaseModel):
    """Settings that belong together; `PREFIX` begins the name of each variable."""

    PREFIX: ClassVar[str] = ""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        coerce_numbers_to_str=True,
    )


class CrawlSettings(SettingsArea):
    """Crawling: delays, robots.txt, User-Agent."""

    PREFIX: ClassVar[str] = "STRIDER_"

    allow_private: bool = False
    """Crawl loopback (any port) and private addresses (FETCHER_PORTS); metadata addresses never are."""
    host_delay_seconds: Annotated[Seconds, EnvironmentVariable("STRIDER_HOST_DELAY")] = 1.0
    """Crawl delay of hosts whose specs set none; a spec may set less, robots.txt may only make it longer."""
    group_by: Annotated[Literal["host", "domain"], BeforeValidator(lowercase)] = "host"
    """Scope of the crawl delay: one host name, or all names of a registrable domain."""
    respect_robots: Annotated[bool, EnvironmentVariable("CRAWLER_RESPECT_ROBOTS_TXT")] = True
    """Whether robots.txt is fetched first and obeyed; false only where every site is your own."""
    contact: ContactAddress = ""
    """URL or mail address of the operator, part of the User-Agent; required for anything but loopback."""
    user_agent: HeaderText = ""
    """The whole User-Agent, instead of name, version and contact."""


class KafkaSettings(SettingsArea):
    """Kafka: brokers and credentials."""

    PREFIX: ClassVar[str] = "KAFKA_"

    bootstrap_servers: Annotated[Endpoints, RequiredAddress()] = ("localhost:9092",)
    """Bootstrap servers, comma-separated host:port."""
    security_protocol: Annotated[
        Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"], BeforeValidator(uppercase)
    ] = "PLAINTEXT"
    """Whether to encrypt (SSL) and to log in (SASL)."""
    sasl_mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], BeforeValidator(uppercase)
    ] = "SCRAM-SHA-512"
    """SASL mechanism, where the protocol uses SASL."""
    sasl_username: str = ""
    """User name for SASL."""
    sasl_password: SecretStr = SecretStr("")
    """Password of that user."""
    ssl_ca_file: ReadableFile = ""
    """Certificate authorities to trust (PEM); the system's where empty."""
    ssl_cert_file: ReadableFile = ""
    """Client certificate (PEM), where the broker requires one."""
    ssl_key_file: ReadableFile = ""
    """Key of the client certificate (PEM)."""
    ssl_key_password: SecretStr = SecretStr("")
    """Password of that key."""
    session_timeout_seconds: Annotated[PositiveSeconds, EnvironmentVariable("KAFKA_SESSION_TIMEOUT")] = 45.0
    """How long a consumer may be silent before its partitions go to others; brokers accept 6 s or more."""
    pages_gb: Annotated[float, Field(ge=0)] = 0.0
    """GiB of disk for topics of pages, all together, as `strider topics apply` sets them; 0: as declared."""

    @model_validator(mode="after")
    def _login_is_complete(self) -> Self:
        if self.security_protocol.startswith("SASL") and not (
            self.sasl_username and self.sasl_password.get_secret_value()
        ):
            raise ValueError(
                f"KAFKA_SECURITY_PROTOCOL={self.security_protocol} needs KAFKA_SASL_USERNAME "
                "and KAFKA_SASL_PASSWORD"
            )
        if bool(self.ssl_key_file) and not self.ssl_cert_file:
            raise ValueError("KAFKA_SSL_KEY_FILE needs KAFKA_SSL_CERT_FILE")
        return self


class SchemaRegistrySettings(SettingsArea):
    """Schema registry with the Confluent interface; without one the `schemas` topic serves."""

    PREFIX: ClassVar[str] = "SCHEMA_REGISTRY_"

    url: WebUrl = SecretUrl("")
    """URL of the registry; empty: schemas travel on their own topic only."""
    username: str = ""
    """User name for the registry."""
    password: SecretStr = SecretStr("")
    """Password of that user."""
    ca_file: ReadableFile = ""
    """Certificate authorities to trust (PEM); the system's where empty."""


class PostgresSettings(SettingsArea):
    """PostgreSQL: the read models."""

    PREFIX: ClassVar[str] = "POSTGRES_"

    dsn: PostgresUrl = SecretUrl("postgresql://localhost:5432/strider")
    """URL with user, password, database and options such as sslmode."""


class RedisSettings(SettingsArea):
    """Redis: the working set of the frontier."""

    PREFIX: ClassVar[str] = "REDIS_"

    url: RedisUrl = SecretUrl("redis://localhost:6379/0")
    """URL with password and database; rediss:// encrypts."""
    ca_file: ReadableFile = ""
    """Certificate authorities to trust with rediss:// (PEM); the system's where empty."""


class ObjectStoreSettings(SettingsArea):
    """Object store: bodies and long texts."""

    PREFIX: ClassVar[str] = "OBJECT_STORE_"

    url: ObjectsUrl = SecretUrl("")
    """file:///folder, s3://bucket/prefix or gs://bucket/prefix; empty: only what fits into events is kept."""


class OwnerSettings(SettingsArea):
    """Owners of seeds. For link-ingestion, which verifies; API, scheduler and commands sign."""

    PREFIX: ClassVar[str] = "STRIDER_OWNER_"

    key: OwnerKey = SecretStr("")
    """Secret of 32 characters or more that shows who may name jobs and go beyond the limits of raw seeds;
    empty: every seed is raw.
    """


class HeadersSettings(SettingsArea):
    """Personal headers. For link-ingestion, the API and commands, which encrypt, and the fetcher."""

    PREFIX: ClassVar[str] = "STRIDER_HEADERS_"

    key: SecretKeys = SecretStr("")
    """Secret of 32 characters or more that encrypts personal headers (Authorization, Cookie, keys, tokens)
    before they are published; of several the first encrypts and each decrypts; empty: they are refused.
    """


class AuthSettings(SettingsArea):
    """Tokens of the API. For the API, which requires it, and for `strider token`."""

    PREFIX: ClassVar[str] = "AUTH_"

    jwt_secret: SecretKeys = SecretStr("")
    """Secret of 32 characters or more that signs the tokens of the API (JWT, HS256); of several, separated by
    commas, the first signs and each verifies; the API does not start without.
    """


class LogSettings(SettingsArea):
    """Logs."""

    PREFIX: ClassVar[str] = "STRIDER_LOG_"

    level: Annotated[Literal["debug", "info", "warning", "error", "critical"], BeforeValidator(lowercase)] = (
        "info"
    )
    """Least severe level that is written."""
    format: Annotated[Literal["json", "console"], BeforeValidator(lowercase)] = "json"
    """json for machines, console for people (NO_COLOR is honoured)."""


class HealthSettings(SettingsArea):
    """Health server: `/livez`, `/readyz`, `/metrics`."""

    PREFIX: ClassVar[str] = "STRIDER_HEALTH_"

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(default=0, ge=0, le=65535)
    """Port to listen on; 0 chooses a free one and logs it."""


class TelemetrySettings(SettingsArea):
    """Traces. Metrics are always served, at /metrics."""

    PREFIX: ClassVar[str] = "STRIDER_"

    trace_sample: float = Field(default=0.01, ge=0, le=1)
    """Share of new traces that are recorded, 0 to 1; a trace that began elsewhere keeps its own decision."""
    otlp_endpoint: Annotated[WebUrl, EnvironmentVariable("OTEL_EXPORTER_OTLP_ENDPOINT")] = SecretUrl("")
    """URL of the collector for traces over HTTP; empty: trace ids travel, but nothing is recorded."""


class RunSettings(SettingsArea):
    """Process: shards, timeouts, limits."""

    PREFIX: ClassVar[str] = "STRIDER_"

    shards: int = Field(default=12, ge=1, le=4096)
    """Number of shards, which is the partition count of the host-keyed topics. Fixed for their life."""
    stall_threshold_seconds: Annotated[StallSeconds, EnvironmentVariable("STALL_THRESHOLD")] = 300.0
    """Time without movement while work waits, after which the process diagnoses itself and exits; 3 s or
    more.
    """
    grace_seconds: Annotated[Seconds, EnvironmentVariable("STRIDER_GRACE")] = 25.0
    """Time to finish the messages in flight after SIGTERM; the others are redelivered."""
    max_decompressed_batch_mb: int = Field(default=32, ge=1, le=1024)
    """Size in MB above which a decompressed record batch is skipped, with a dead letter: 8 KB may be 256 MB.
    """
    exit_after_seconds: Seconds = 0.0
    """Time without a dependency, such as its database, after which the process stops (exit code 5); 0: it
    tries to reconnect for ever, and is not ready meanwhile.
    """
    memory_limit_mb: Annotated[int, Field(ge=0)] = 2048
    """Resident memory in MB above which the process stops (exit code 1); 0 sets no limit."""


class ServiceSettings(BaseModel):
    """Settings of every service. A service derives its own, with `PREFIX` and further fields."""

    PREFIX: ClassVar[str] = ""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        coerce_numbers_to_str=True,
        validate_default=True,
    )

    crawl: CrawlSettings = CrawlSettings()
    kafka: KafkaSettings = KafkaSettings()
    registry: SchemaRegistrySettings = SchemaRegistrySettings()
    postgres: PostgresSettings = PostgresSettings()
    redis: RedisSettings = RedisSettings()
    objects: ObjectStoreSettings = ObjectStoreSettings()
    logs: LogSettings = LogSettings()
    health: HealthSettings = HealthSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    run: RunSettings = RunSettings()


def secret_values(settings: BaseModel) -> frozenset[str]:
    """Return every secret value that is set, passwords within addresses included, for the logs to remove."""
    found: set[str] = set()
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, BaseModel):
                found |= secret_values(each)
            elif isinstance(each, SecretUrl):
                found.add(_password_of(each.get_secret_value()))
            elif isinstance(each, SecretStr):
                found.add(each.get_secret_value())
    return frozenset(found - {""})


def _password_of(address: str) -> str:
    """Return the password, also of an invalid address whose password was not escaped."""
    try:
        if password := urlsplit(address).password:
            return password
    except ValueError:
        pass
    account, at, _ = address.partition("://")[2].rpartition("@")
    return account.partition(":")[2] if at else ""
