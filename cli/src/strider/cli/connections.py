"""Clients of Kafka, PostgreSQL and Redis, and the ends of a command that they cause.

An address comes from an option of the root command, from the profile that it names, from the environment,
or from the local stack that runs here, in this order. Options and profile are put into the environment
for the time of the command, so that settings are read in one way, as services read them.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from socket import gaierror
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import typer

from .exit_codes import CommandExit
from .output import fail, log_to_stderr

if TYPE_CHECKING:
    # Client libraries take a quarter of a second to import; a command imports those that it uses.
    from strider.messaging.errors import Unavailable
    from strider.messaging.kafka import KafkaConnection
    from strider.messaging.schema_registry_client import SchemaRegistryClient
    from strider.runtime.settings.base import ServiceSettings
    from strider.storage.errors import StoreRejected
    from strider.storage.postgres import Postgres
    from strider.storage.redis import Redis

T = TypeVar("T")

REQUEST_TIMEOUT_SECONDS: Final = 10.0
"""Longest wait for a broker at a terminal."""
REDIS_TIMEOUT_SECONDS: Final = 5.0
"""Longest wait for Redis: longer than a service waits, as nothing is retried here."""


class Server(NamedTuple):
    """A server that commands connect to."""

    name: str
    option: str
    """Of the root command."""
    variable: str
    endpoint: str
    """Name in the state of the local stack, and of the part in `Unavailable`."""
    schemes: tuple[str, ...] = ()
    """Schemes of its URL; Kafka has none."""


KAFKA: Final = Server("Kafka", "--kafka", "KAFKA_BOOTSTRAP_SERVERS", "kafka")
POSTGRES: Final = Server("PostgreSQL", "--postgres", "POSTGRES_DSN", "postgres", ("postgresql", "postgres"))
REDIS: Final = Server("Redis", "--redis", "REDIS_URL", "redis", ("redis", "rediss", "unix"))
SERVERS: Final = (KAFKA, POSTGRES, REDIS)


@dataclass(frozen=True, slots=True)
class BrokerTarget:
    """The broker of a command, and the settings that apply."""

    connection: KafkaConnection
    settings: ServiceSettings
    allows_private: bool = False
    """Whether the services of that broker crawl private addresses, as far as is known here."""
    stack_key: str = field(default="", repr=False)
    """Owner key of the local stack, if the broker is its own: its services have this one."""
    stack_headers_key: str = field(default="", repr=False)
    """Key of personal headers, likewise."""

    is_local_stack: bool = False
    """Whether the broker is that of the local stack."""

    @property
    def page_bytes(self) -> int:
        """Bytes on disk for the topics of pages, by the settings; 0: as they are declared."""
        from strider.localstack.plan.endpoints import page_bytes  # noqa: PLC0415  # as above

        return page_bytes(self.settings, is_local_stack=self.is_local_stack)

    @property
    def shards(self) -> int:
        """Number of shards by the settings."""
        return self.settings.run.shards


STACK_HINT: Final = (
    "start the local stack with: strider up (found from this folder upwards, or by STRIDER_HOME)"
)


class MissingTopic(Exception):
    """The broker does not have a topic that is declared."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Kafka has no topic {name}; create it with: strider topics apply")


class MissingAddress(Exception):
    """No address of a server is configured."""

    def __init__(self, server: Server) -> None:
        super().__init__(
            f"no address of {server.name} is configured: give strider {server.option}, "
            f"set {server.variable}, or {STACK_HINT}"
        )


_contacted: Final[dict[str, str]] = {}
"""Server → host and port that this command connects to, for messages."""

_sources: Final[dict[str, str]] = {}
"""Variable → the option or profile that gave its value to this command."""


def at_source(error: str) -> str:
    """Return an error about a variable under the name of what gave its value: option, profile or variable."""
    variable = error.partition(" ")[0].rstrip(":")
    source = _sources.get(variable)
    if source is None:
        return error
    return source + error.removeprefix(variable).removesuffix(" (from environment)")


@contextmanager
def override_environment(variables: Mapping[str, str], sources: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for the time of a command; `sources` names what gave each value."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    _sources.update(sources)
    try:
        yield
    finally:
        _sources.clear()
        _contacted.clear()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def find_address(server: Server) -> str:
    """Return the address of a server; empty where none is configured and no local stack runs."""
    from strider.localstack.plan.endpoints import read_endpoints  # noqa: PLC0415  # --help waits for no library

    return read_endpoints(os.environ, Path.cwd()).get(server.endpoint, "")


def require_address(server: Server, given: str = "") -> str:
    """Return the address that was given, else the configured one.

    Raises MissingAddress, and StartRefused for an address that cannot be one of this server.
    """
    from strider.messaging.errors import StartRefused  # noqa: PLC0415  # as above
    from strider.runtime.settings import types  # noqa: PLC0415

    address = given or find_address(server)
    if not address:
        raise MissingAddress(server)
    try:
        types.require_address(*server.schemes)(types.SecretUrl(address))
    except ValueError as failure:
        raise StartRefused(f"{'--dsn' if given else server.variable}: {failure}") from None
    _note_contact(server, address)
    return address


def _note_contact(server: Server, address: str) -> None:
    """Keep the address of a server for messages, without user and password."""
    _contacted[server.endpoint] = address.rpartition("://")[2].rpartition("@")[2].partition("/")[0]


def unavailable_text(failure: Unavailable) -> str:
    """Return the sentence for a server that does not answer, with its address where that is known."""
    names = {server.endpoint: server.name for server in SERVERS}
    name = names.get(failure.dependency, failure.dependency)
    if reason := _connection_fault(failure):
        place = _contacted.get(failure.dependency, "")
        problem = (
            f"{name} at {place} does not answer: {reason}" if place else f"{name} does not answer: {reason}"
        )
    else:
        problem = f"{name} is unavailable: {failure.detail}"
    return f"{problem}; is it running? Check with: strider doctor"


def _connection_fault(failure: BaseException) -> str:
    """Return why a connection could not be opened, in plain words; empty for another fault."""
    cause: BaseException | None = failure
    while cause is not None:
        if isinstance(cause, gaierror):
            return "its host name is unknown"
        if isinstance(cause, ssl.SSLError) and cause.reason:
            return cause.reason.replace("_", " ").lower()
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno).lower()
        if isinstance(cause, TimeoutError):
            return "no response in time"
        cause = cause.__cause__ or cause.__context__
    return ""


OLD_SCHEMA: Final = frozenset({"42P01", "42703"})
"""States of PostgreSQL: a table or a column does not exist."""


def rejected_text(failure: StoreRejected) -> str:
    """Return the sentence for a command that a store refused."""
    if failure.code in OLD_SCHEMA:
        return f"the database is not up to date ({failure.detail}); run: strider migrate up"
    return str(failure)


@contextmanager
def reported_failures() -> Iterator[None]:
    """End the command with one line and an exit code for every failure that is not a bug."""
    from strider.messaging.errors import InfrastructureError, StartRefused, Unavailable  # noqa: PLC0415  # as above
    from strider.runtime.settings.loader import SettingsError  # noqa: PLC0415
    from strider.storage.errors import StoreRejected  # noqa: PLC0415

    try:
        yield
    except SettingsError as failure:
        fail("; ".join(map(at_source, failure.problems)), CommandExit.USAGE)
    except (MissingAddress, StartRefused) as failure:
        fail(at_source(str(failure)), CommandExit.USAGE)
    except MissingTopic as failure:
        fail(str(failure), CommandExit.UNAVAILABLE)
    except Unavailable as failure:
        fail(unavailable_text(failure), CommandExit.UNAVAILABLE)
    except StoreRejected as failure:
        fail(rejected_text(failure), CommandExit.FAILED)
    except InfrastructureError as failure:
        fail(str(failure), CommandExit.FAILED)
    except KeyboardInterrupt:
        raise typer.Exit(CommandExit.INTERRUPTED) from None


def run_reported(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine; a failure that is not a bug ends the command with one line."""
    with reported_failures():
        return asyncio.run(work())


def find_broker(bootstrap: str, environment: Mapping[str, str], directory: Path) -> BrokerTarget:
    """Return the broker of the option, of the environment, or of the local stack that runs here."""
    from strider.localstack.directories import find_stack_directory  # noqa: PLC0415  # as above
    from strider.localstack.plan.endpoints import (  # noqa: PLC0415
        common_settings,
        kafka_connection,
        read_endpoints,
        running_stack,
    )
    from strider.localstack.plan.stack_keys import HEADERS_KEY, OWNER_KEY  # noqa: PLC0415
    from strider.runtime.settings.types import require_endpoints  # noqa: PLC0415

    settings = common_settings(environment)
    servers = bootstrap or read_endpoints(environment, directory).get(KAFKA.endpoint, "")
    if not servers:
        raise MissingAddress(KAFKA)
    try:
        require_endpoints(tuple(part.strip() for part in servers.split(",")))
    except ValueError as failure:
        fail(at_source(f"{'--bootstrap' if bootstrap else KAFKA.variable}: {failure}"), CommandExit.USAGE)
    connection = replace(
        kafka_connection(servers, environment), request_timeout_seconds=REQUEST_TIMEOUT_SECONDS
    )
    stack = running_stack(environment, directory)
    is_own_broker = stack is not None and stack.endpoints.get(KAFKA.endpoint) == servers
    # The services of a stack have the settings that it was started with, not those of this shell.
    allows = stack.allows_private if stack and is_own_broker else settings.crawl.allow_private
    if not is_own_broker:
        return BrokerTarget(connection, settings, allows)
    home = find_stack_directory(environment, directory)
    keys = OWNER_KEY.read(home), HEADERS_KEY.read(home)
    return BrokerTarget(connection, settings, allows, *keys, is_local_stack=True)


def run_with_broker(bootstrap: str, work: Callable[[BrokerTarget], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine with the broker of this command; a failure that is not a bug ends it with one line."""
    with reported_failures():
        target = find_broker(bootstrap, os.environ, Path.cwd())
        log_to_stderr("warning")
        return asyncio.run(work(target))


def open_schema_registry(settings: ServiceSettings) -> SchemaRegistryClient | None:
    """Return a client of the schema registry where one is configured: messages may carry its ids."""
    from strider.messaging.schema_registry_client import SchemaRegistryClient  # noqa: PLC0415  # as above

    registry = settings.registry
    if not (url := registry.url.get_secret_value()):
        return None
    return SchemaRegistryClient(
        url,
        username=registry.username,
        password=registry.password.get_secret_value(),
        ca_file=registry.ca_file,
    )


@asynccontextmanager
async def open_redis(url: str) -> AsyncIterator[Redis]:
    """Open Redis at an address. Raises StartRefused for an address or settings that are invalid."""
    from strider.localstack.plan.endpoints import common_settings  # noqa: PLC0415  # as above
    from strider.messaging.errors import StartRefused  # noqa: PLC0415
    from strider.runtime.settings.loader import SettingsError  # noqa: PLC0415
    from strider.storage.redis import connect, redis_options  # noqa: PLC0415

    try:
        settings = common_settings(os.environ)
    except SettingsError as failure:
        raise StartRefused(str(failure)) from failure
    _note_contact(REDIS, url)
    redis = connect(redis_options(settings.redis, url=url, timeout_seconds=REDIS_TIMEOUT_SECONDS))
    try:
        yield redis
    finally:
        await redis.close()


@asynccontextmanager
async def open_postgres(dsn: str, *, application: str, option: str = "") -> AsyncIterator[Postgres]:
    """Open PostgreSQL at an address; one connection, as a command works alone.

    `option` is the option that gave the address, for the message about an invalid one.
    """
    from strider.messaging.errors import StartRefused  # noqa: PLC0415  # as above
    from strider.storage.postgres import Postgres, PostgresOptions  # noqa: PLC0415

    postgres = None
    _note_contact(POSTGRES, dsn)
    try:
        postgres = Postgres(PostgresOptions(dsn, application=application, max_connections=1))
        yield postgres
    except StartRefused as refused:
        # An invalid address may come to light with the first connection only.
        raise StartRefused(str(refused).replace(POSTGRES.variable, option or POSTGRES.variable)) from None
    finally:
        if postgres is not None:
            await postgres.close()
