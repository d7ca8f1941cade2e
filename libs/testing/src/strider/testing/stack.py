"""A real Kafka, PostgreSQL and Valkey for tests: started once a session, each when it is first asked for.

What the environment names (KAFKA_BOOTSTRAP_SERVERS, POSTGRES_DSN, REDIS_URL) is used instead. As a
pytest plugin this module gives the fixtures `stack`, `kafka_bootstrap`, `postgres_dsn`,
`redis_url`; its functions serve scripts and benches as well. It knows no topic and no table.
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
from strider.localstack.servers import StackServer
from strider.localstack.servers.factory import PORT_NAMES, build_kafka, build_postgres, build_valkey
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
"""Far more than any start takes (Kafka: 3 s), because test machines are busy ones."""
VARIABLES: Final = {"kafka": "KAFKA_BOOTSTRAP_SERVERS", "postgres": "POSTGRES_DSN", "redis": "REDIS_URL"}


class ExternalServer(StackFailure):
    """A test wanted to kill or stop a server that the environment named."""


class RunningServer:
    """One server, which a test may kill, stop, freeze and start again at the same address."""

    def __init__(self, name: str, address: str, *, probe: Probe, part: StackServer | None = None) -> None:
        self.name = name
        self.address = address
        self._probe = probe
        self._part = part
        self._child: ChildProcess | None = None

    @classmethod
    def from_server(cls, part: StackServer) -> Self:
        """Make one of a part that is put together and does not run yet."""
        return cls(part.name, part.address, probe=part.probe, part=part)

    @property
    def is_ours(self) -> bool:
        """False for a server that the environment named: tests that break it must be skipped."""
        return self._part is not None

    @property
    def pid(self) -> int:
        """Number of its process."""
        return self._process().identity.pid

    @property
    def log(self) -> Path:
        """What it wrote so far."""
        return self._ours().directory / "server.log"

    def start(self, *, seconds: float = READY_SECONDS) -> None:
        """Start it on the data that it has, and wait until it answers."""
        part = self._ours()
        if self._child is None or not self._child.is_alive():
            part.prepare()
            number = part.directory / "server.pid"
            self._child = start_process(part.launch(log=self.log, pid_file=number))
        # A test before this one may have frozen it and failed.
        self.thaw()
        self.wait_ready(seconds=seconds)

    def wait_ready(self, *, seconds: float = READY_SECONDS) -> None:
        """Wait until it answers; NotReady with its last words when it does not."""
        try:
            run_sync(wait_until(self._probe, seconds=seconds, exit_reason=self._gone))
        except StackNotReady as failure:
            said = last_log_lines(self.log, lines=20) if self.is_ours else ""
            raise StackNotReady(self.name, f"{failure.reason}\n{said}".strip()) from None

    def kill(self) -> None:
        """SIGKILL: no goodbye, no flush. `start` brings it back."""
        self._process().kill()

    def stop(self, *, grace_seconds: float = 20.0) -> None:
        """End it as an administrator would."""
        launch = self._ours().launch(log=self.log, pid_file=self.log)
        self._process().stop(launch.stop_signal, timeout_seconds=grace_seconds)

    def restart(self) -> None:
        """Stop it and start it again."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """SIGSTOP: connections stay open and nothing answers."""
        self._process().signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        self._process().signal(signal.SIGCONT)

    def close(self) -> None:
        """End it for good, also when it is frozen."""
        if self._child is not None and self._child.is_alive():
            self.thaw()
            self.stop()

    def _ours(self) -> StackServer:
        if self._part is None:
            raise ExternalServer(f"{self.name} at {self.address} was named by the environment")
        return self._part

    def _process(self) -> ChildProcess:
        self._ours()
        if self._child is None:
            raise ExternalServer(f"{self.name} was not started yet")
        return self._child

    def _gone(self) -> str | None:
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
    """Start a broker of one's own in that directory; `extra` are broker settings. Close it at the end.

    One that starts fast is slower later: it is for tests, the other one for measuring.
    """
    variables = os.environ if environment is None else environment
    ports = choose_ports(PORT_NAMES["kafka"], directory, remembered={})
    part = build_kafka(directory, ports=ports, environment=variables, fast_start=starts_fast, extra=extra)
    return _started(part)


def start_postgres(directory: Path) -> RunningServer:
    """Start a PostgreSQL of one's own that trusts everybody and does not wait for disks."""
    ports = choose_ports(PORT_NAMES["postgres"], directory, remembered={})
    return _started(build_postgres(directory, ports=ports, durable=False))


def start_valkey(directory: Path) -> RunningServer:
    """Start a Valkey of one's own."""
    ports = choose_ports(PORT_NAMES["redis"], directory, remembered={})
    return _started(build_valkey(directory, ports=ports))


class ServerStack:
    """The servers of a test session, each started when it is first asked for."""

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
        """The database server. Tests want `postgres_dsn`, a database of their own."""
        return self._get("postgres", start_postgres, probe_postgres)

    @property
    def redis(self) -> RunningServer:
        """Valkey."""
        return self._get("redis", start_valkey, probe_redis)

    def close(self) -> None:
        """End what was started."""
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
        # A test before this one may have killed it.
        if running.is_ours:
            running.start()
        return running


def create_database(dsn: str, *, template: str = "template0") -> str:
    """Make a new database on that server, empty or as its template is; returns its DSN."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    run_sync(_execute(dsn, f'CREATE DATABASE "{name}" TEMPLATE "{template}"'))
    return urlunsplit(urlsplit(dsn)._replace(path=f"/{name}"))


def drop_database(dsn: str) -> None:
    """Drop it, whoever is still connected."""
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


async def _flush(url: str) -> None:
    from strider.storage.redis import RedisOptions, connect  # noqa: PLC0415  # only who uses it pays for it

    store = connect(RedisOptions(url))
    try:
        await store.command("FLUSHALL")
        await store.command("FUNCTION", "FLUSH")
    finally:
        await store.close()


def _started(part: StackServer) -> RunningServer:
    running = RunningServer.from_server(part)
    try:
        running.start()
    except BaseException:
        running.close()
        raise
    return running


@pytest.fixture(scope="session")
def stack() -> Iterator[ServerStack]:
    """All servers of this session; asking for one starts it."""
    with temp_server_directory() as directory:
        servers = ServerStack(directory, os.environ)
        try:
            yield servers
        finally:
            servers.close()


@pytest.fixture
def kafka_bootstrap(stack: ServerStack) -> str:
    """Bootstrap server of the session's broker: tests share it, so they name their topics apart."""
    return stack.kafka.address


@pytest.fixture
def postgres_dsn(stack: ServerStack) -> Iterator[str]:
    """Make a fresh, empty database for this test."""
    dsn = create_database(stack.postgres.address)
    yield dsn
    drop_database(dsn)


@pytest.fixture
def redis_url(stack: ServerStack) -> str:
    """Name the session's Valkey, emptied for this test (a server of the environment is never emptied)."""
    running = stack.redis
    if running.is_ours:
        run_sync(_flush(running.address))
    return running.address
