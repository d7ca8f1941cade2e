"""What can be set, and what is set when nobody says anything.

One frozen class per area, gathered in `ServiceSettings`, from which each service derives its own.
A field's variable is its area's prefix and its name, or what `Variable` says; the sentence beneath
a field is its help text, its line in `.env.example` and in the table of the docs. Where values
come from (file, environment, secret files) is `settings_sources`' matter: building one of these
classes reads nothing.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from .types import (
    ContactAddress,
    Endpoints,
    EnvironmentVariable,
    HeaderText,
    ObjectsUrl,
    PositiveSeconds,
    PostgresUrl,
    ReadableFile,
    RedisUrl,
    RequiredAddress,
    Seconds,
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
    """How every crawl behaves towards the sites that it visits."""

    PREFIX: ClassVar[str] = "STRIDER_"

    allow_private: bool = False
    """Crawl loopback and private addresses, on any port; metadata addresses are never crawled."""
    host_delay_seconds: Annotated[Seconds, EnvironmentVariable("STRIDER_HOST_DELAY")] = 1.0
    """Shortest time between two requests to one host; robots.txt may only make it longer."""
    group_by: Annotated[Literal["host", "domain"], BeforeValidator(lowercase)] = "host"
    """Whose requests are kept apart: those to one host name, or to all names of a registrable domain."""
    respect_robots: Annotated[bool, EnvironmentVariable("CRAWLER_RESPECT_ROBOTS_TXT")] = True
    """Whether robots.txt is asked first and kept to; false only where every site is your own."""
    contact: ContactAddress = ""
    """URL or mail address of who is responsible, part of the User-Agent; needed for anything but loopback."""
    user_agent: HeaderText = ""
    """The whole User-Agent, instead of the name, version and contact that are sent otherwise."""


class KafkaSettings(SettingsArea):
    """The broker, and how to be let in."""

    PREFIX: ClassVar[str] = "KAFKA_"

    bootstrap_servers: Annotated[Endpoints, RequiredAddress()] = ("localhost:9092",)
    """Brokers to ask first, host:port, parted by commas."""
    security_protocol: Annotated[
        Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"], BeforeValidator(uppercase)
    ] = "PLAINTEXT"
    """Whether to encrypt (SSL) and to log in (SASL)."""
    sasl_mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], BeforeValidator(uppercase)
    ] = "SCRAM-SHA-512"
    """How to log in, where the protocol says SASL."""
    sasl_username: str = ""
    """Who logs in."""
    sasl_password: SecretStr = SecretStr("")
    """The password of that user."""
    ssl_ca_file: ReadableFile = ""
    """Certificates of the authorities to trust (PEM); the system's where empty."""
    ssl_cert_file: ReadableFile = ""
    """Own certificate (PEM), where the broker asks for one."""
    ssl_key_file: ReadableFile = ""
    """Key of the own certificate (PEM)."""
    ssl_key_password: SecretStr = SecretStr("")
    """Password of that key."""
    session_timeout_seconds: Annotated[PositiveSeconds, EnvironmentVariable("KAFKA_SESSION_TIMEOUT")] = 45.0
    """How long a consumer may be silent before its partitions go to others; brokers take 6 s or more."""

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
    """A schema registry that speaks the Confluent interface; without one the `schemas` topic serves."""

    PREFIX: ClassVar[str] = "SCHEMA_REGISTRY_"

    url: WebUrl = SecretUrl("")
    """Address of the registry; empty: schemas travel on their own topic only."""
    username: str = ""
    """Who logs in to the registry."""
    password: SecretStr = SecretStr("")
    """The password of that user."""
    ca_file: ReadableFile = ""
    """Certificates of the authorities to trust (PEM); the system's where empty."""


class PostgresSettings(SettingsArea):
    """The read models' database."""

    PREFIX: ClassVar[str] = "POSTGRES_"

    dsn: PostgresUrl = SecretUrl("postgresql://localhost:5432/strider")
    """Address with user, password, database and options such as sslmode."""


class RedisSettings(SettingsArea):
    """The working set's store."""

    PREFIX: ClassVar[str] = "REDIS_"

    url: RedisUrl = SecretUrl("redis://localhost:6379/0")
    """Address with password and database; rediss:// encrypts."""
    ca_file: ReadableFile = ""
    """Certificates of the authorities to trust with rediss:// (PEM); the system's where empty."""


class SearchSettings(SettingsArea):
    """The search index."""

    PREFIX: ClassVar[str] = "OPENSEARCH_"

    url: WebUrl = SecretUrl("")
    """Address with user and password; empty: no search index is written."""


class ObjectStoreSettings(SettingsArea):
    """Bodies and long texts."""

    PREFIX: ClassVar[str] = "OBJECT_STORE_"

    url: ObjectsUrl = SecretUrl("")
    """file:///folder, s3://bucket/prefix or gs://bucket/prefix; empty: only what fits into events is kept."""


class LogSettings(SettingsArea):
    """What a process tells."""

    PREFIX: ClassVar[str] = "STRIDER_LOG_"

    level: Annotated[Literal["debug", "info", "warning", "error", "critical"], BeforeValidator(lowercase)] = (
        "info"
    )
    """Least severe level that is written."""
    format: Annotated[Literal["json", "console"], BeforeValidator(lowercase)] = "json"
    """json for machines, console for people (NO_COLOR is honoured)."""


class HealthSettings(SettingsArea):
    """Where a process answers how it is."""

    PREFIX: ClassVar[str] = "STRIDER_HEALTH_"

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(default=0, ge=0, le=65535)
    """Port to listen on; 0 chooses a free one and logs it."""


class TelemetrySettings(SettingsArea):
    """Traces. Metrics are always there, at /metrics."""

    PREFIX: ClassVar[str] = "STRIDER_"

    trace_sample: float = Field(default=0.01, ge=0, le=1)
    """Share of new traces that are recorded, 0 to 1; a trace that began elsewhere keeps its own decision."""
    otlp_endpoint: Annotated[WebUrl, EnvironmentVariable("OTEL_EXPORTER_OTLP_ENDPOINT")] = SecretUrl("")
    """Collector to send traces to over HTTP; empty: trace ids travel, but nothing is recorded."""


class RunSettings(SettingsArea):
    """How a process waits, gives up and stops."""

    PREFIX: ClassVar[str] = "STRIDER_"

    shards: int = Field(default=12, ge=1, le=4096)
    """Number of shards, which is the partition count of the host-keyed topics. Fixed for their life."""
    stall_threshold_seconds: Annotated[StallSeconds, EnvironmentVariable("STALL_THRESHOLD")] = 300.0
    """Work waits and nothing has moved for so long: the process diagnoses itself and exits. 3 s or more."""
    grace_seconds: Annotated[Seconds, EnvironmentVariable("STRIDER_GRACE")] = 25.0
    """Time to finish what is in hand after SIGTERM, before it is left to be redelivered."""
    memory_limit_mb: Annotated[int, Field(ge=0)] = 0
    """Resident memory above which the process ends itself in order (exit code 1); 0 sets no limit."""


class ServiceSettings(BaseSettings):
    """Every knob that all services have. A service derives its own, with `PREFIX` and further fields."""

    PREFIX: ClassVar[str] = ""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        coerce_numbers_to_str=True,
    )

    crawl: CrawlSettings = CrawlSettings()
    kafka: KafkaSettings = KafkaSettings()
    registry: SchemaRegistrySettings = SchemaRegistrySettings()
    postgres: PostgresSettings = PostgresSettings()
    redis: RedisSettings = RedisSettings()
    search: SearchSettings = SearchSettings()
    objects: ObjectStoreSettings = ObjectStoreSettings()
    logs: LogSettings = LogSettings()
    health: HealthSettings = HealthSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    run: RunSettings = RunSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take values from the caller only: `settings_sources` knows where each one came from."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)


def secret_values(settings: BaseModel) -> frozenset[str]:
    """Every secret value that is set, passwords within addresses included, for the logs to leave out."""
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
    """Find the password, also in an address that is none because the password was not escaped."""
    try:
        if password := urlsplit(address).password:
            return password
    except ValueError:
        pass
    account, at, _ = address.partition("://")[2].rpartition("@")
    return account.partition(":")[2] if at else ""
