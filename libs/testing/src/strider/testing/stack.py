"""Real Kafka, PostgreSQL and Valkey for tests: one of each a session, started on first use.

Servers that the environment names (KAFKA_BOOTSTRAP_SERVERS, POSTGRES_DSN, REDIS_URL) are used instead. As a
pytest plugin this module provides the fixtures `stack`, `kafka_bootstrap`, `postgres_dsn`, `redis_url`; its
functions serve scripts and benches as well. It knows no topic and no table.
"""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit, urlunsplit

import pytest

from strider.localstack.errors import StackFailure, StackNotReady
from strider.localstack.process.child import ChildProcess, last_log_lines, start_process
from strider.localstack.servers.factory import (
    PORT_NAMES,
    StackServer,
    build_kafka,
    build_postgres,
    build_valkey,
)
from strider.localstack.servers.ports import choose_ports
from strider.localstack.servers.probes import (
    Probe,
    probe_kafka,
    probe_postgres,
    probe_redis,
    run_sync,
    wait_until,
)

from .temp_dirs import temp_server_directory

READY_SECONDS: Final = 60.0
"""Far more than any start takes (Kafka: 3 s), because test machines are busy."""
VARIABLES: Final = {"kafka": "KAFKA_BOOTSTRAP_SERVERS", "postgres": "POSTGRES_DSN", "redis": "REDIS_URL"}


class ExternalServer(StackFailure):
    """A test tried to kill or stop a server that the environment named."""


class RunningServer:
    """One server, which a test may kill, stop, freeze and start again at the same address."""

    def __init__(self, name: str, address: str, *, probe: Probe, part: StackServer | None = None) -> None:
        self.name = name
        self.address = address
        self._probe = probe
        self._server = part
        self._child: ChildProcess | None = None

    @classmethod
    def from_server(cls, part: StackServer) -> Self:
        """Return one for a server that does not run yet."""
        return cls(part.name, part.address, probe=part.probe, part=part)

    @property
    def is_ours(self) -> bool:
        """False for a server that the environment named: tests that break it must be skipped."""
        return self._server is not None

    @property
    def pid(self) -> int:
        """Pid of its process."""
        return self._process().identity.pid

    @property
    def has_ended(self) -> bool:
        """Whether it was started and has ended, whatever the reason."""
        return self._child is not None and not self._child.is_alive()

    @property
    def log(self) -> Path:
        """Its log file."""
        return self._own_server().directory / "server.log"

    def start(self, *, seconds: float = READY_SECONDS) -> None:
        """Start it on its data, and wait until it is ready."""
        part = self._own_server()
        if self._child is None or not self._child.is_alive():
            part.prepare()
            number = part.directory / "server.pid"
            self._child = start_process(part.launch(log=self.log, pid_file=number))
        # An earlier test may have frozen it and failed.
        self.thaw()
        self.wait_ready(seconds=seconds)

    def wait_ready(self, *, seconds: float = READY_SECONDS) -> None:
        """Wait until it is ready; StackNotReady with its last log lines when it is not."""
        try:
            run_sync(wait_until(self._probe, seconds=seconds, exit_reason=self._exit_reason))
        except StackNotReady as failure:
            said = last_log_lines(self.log, lines=20) if self.is_ours else ""
            raise StackNotReady(self.name, f"{failure.reason}\n{said}".strip()) from None

    def kill(self) -> None:
        """Kill it with SIGKILL, without a flush; `start` starts it again."""
        self._process().kill()

    def stop(self, *, timeout_seconds: float = 20.0) -> None:
        """Stop it in order."""
        launch = self._own_server().launch(log=self.log, pid_file=self.log)
        self._process().stop(launch.stop_signal, timeout_seconds=timeout_seconds)

    def restart(self) -> None:
        """Stop it and start it again."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Send SIGSTOP: connections stay open and nothing is answered."""
        self._process().signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Send SIGCONT."""
        self._process().signal(signal.SIGCONT)

    def close(self) -> None:
        """Stop it for good, also when it is frozen."""
        if self._child is not None and self._child.is_alive():
            self.thaw()
            self.stop()

    def _own_server(self) -> StackServer:
        if self._server is None:
            raise ExternalServer(f"{self.name} at {self.address} was named by the environment")
        return self._server

    def _process(self) -> ChildProcess:
        self._own_server()
        if self._child is None:
            raise ExternalServer(f"{self.name} was not started yet")
        return self._child

    def _exit_reason(self) -> str | None:
        if self._child is None or self._child.is_alive():
            return None
        return f"{self.name} ended with status {self._child.exit_code}"


def start_kafka(
    directory: Path,
    *,
    environment: Mapping[str, str] | None = None,
    extra: Mapping[str, str] | None = None,
    starts_fast: bool = True,
) -> RunningServer:
    """Start a broker in that directory; `extra` are broker settings. Close it at the end.

    One that starts fast is slower later: it is for tests, the other one for measuring.
    """
    variables = os.environ if environment is None else environment
    ports = choose_ports(PORT_NAMES["kafka"], directory, remembered={})
    part = build_kafka(directory, ports=ports, environment=variables, fast_start=starts_fast, extra=extra)
    return _start(part)


def start_postgres(directory: Path) -> RunningServer:
    """Start a PostgreSQL server that trusts every connection and does not sync to disk."""
    ports = choose_ports(PORT_NAMES["postgres"], directory, remembered={})
    return _start(build_postgres(directory, ports=ports, durable=False))


def start_valkey(directory: Path) -> RunningServer:
    """Start a Valkey server."""
    ports = choose_ports(PORT_NAMES["redis"], directory, remembered={})
    return _start(build_valkey(directory, ports=ports))


class ServerStack:
    """The servers of a test session, each started on first use."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._directory = directory
        self._environment = environment
        self._running: dict[str, RunningServer] = {}

    @property
    def kafka(self) -> RunningServer:
        """The broker."""
        return self._get("kafka", start_kafka, probe_kafka)

    @property
    def postgres(self) -> RunningServer:
        """The database server. Tests use `postgres_dsn`, a database of their own."""
        return self._get("postgres", start_postgres, probe_postgres)

    @property
    def redis(self) -> RunningServer:
        """Valkey."""
        return self._get("redis", start_valkey, probe_redis)

    def close(self) -> None:
        """Stop what was started."""
        for running in reversed(self._running.values()):
            running.close()

    def _get(
        self, name: str, starter: Callable[[Path], RunningServer], ask: Callable[[str], Any]
    ) -> RunningServer:
        running = self._running.get(name)
        if running is None:
            if address := self._environment.get(VARIABLES[name]):
                running = RunningServer(name, address, probe=partial(ask, address))
            else:
                running = starter(self._directory / name)
            self._running[name] = running
        # An earlier test may have killed it.
        if running.is_ours:
            running.start()
        return running


def create_database(dsn: str, *, template: str = "template0") -> str:
    """Create a database on that server, empty or from its template; return its DSN."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    run_sync(_execute(dsn, f'CREATE DATABASE "{name}" TEMPLATE "{template}"'))
    return urlunsplit(urlsplit(dsn)._replace(path=f"/{name}"))


def drop_database(dsn: str) -> None:
    """Drop it, with its connections."""
    address = urlsplit(dsn)
    server = urlunsplit(address._replace(path="/postgres"))
    run_sync(_execute(server, f'DROP DATABASE IF EXISTS "{address.path[1:]}" WITH (FORCE)'))


async def _execute(dsn: str, statement: str) -> None:
    from strider.storage.postgres import connect_once  # noqa: PLC0415  # only who uses it pays for it

    connection = await connect_once(dsn, application="strider-testing")
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def _flush_redis(url: str) -> None:
    from strider.storage.redis import RedisOptions, connect  # noqa: PLC0415  # only who uses it pays for it

    store = connect(RedisOptions(url))
    try:
        await store.command("FLUSHALL")
        await store.command("FUNCTION", "FLUSH")
    finally:
        await store.close()


def _start(part: StackServer) -> RunningServer:
    running = RunningServer.from_server(part)
    try:
        running.start()
    except BaseException:
        running.close()
        raise
    return running


@pytest.fixture(scope="session")
def stack() -> Iterator[ServerStack]:
    """Provide the servers of this session; each starts on first use."""
    with temp_server_directory() as directory:
        servers = ServerStack(directory, os.environ)
        try:
            yield servers
        finally:
            servers.close()


@pytest.fixture
def kafka_bootstrap(stack: ServerStack) -> str:
    """Return the bootstrap server of the session's broker; tests share it and use separate topics."""
    return stack.kafka.address


@pytest.fixture
def postgres_dsn(stack: ServerStack) -> Iterator[str]:
    """Create an empty database for this test."""
    dsn = create_database(stack.postgres.address)
    yield dsn
    drop_database(dsn)


@pytest.fixture
def redis_url(stack: ServerStack) -> str:
    """Return the session's Valkey, emptied for this test (a server of the environment is never emptied)."""
    running = stack.redis
    if running.is_ours:
        run_sync(_flush_redis(running.address))
    return running.address
