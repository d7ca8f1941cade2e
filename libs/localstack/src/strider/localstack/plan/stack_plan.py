"""The processes of the desired stack and their addresses.

Chooses ports, passwords and keys, and reuses those of an earlier run, so that addresses stay the
same. Starts nothing.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from strider.localstack.directories import StackDirectory
from strider.localstack.errors import SetupFailure
from strider.localstack.servers.factory import (
    PORT_NAMES,
    StackServer,
    build_kafka,
    build_postgres,
    build_valkey,
    redis_memory_mb,
)
from strider.localstack.servers.object_store import object_store_url
from strider.localstack.servers.ports import choose_ports
from strider.localstack.stack_state import SERVERS, DesiredState

from .endpoints import common_settings, endpoint_variables, external_endpoints
from .services import ServiceKind, ServiceProcess, copy_name, service_environment, setting_digests
from .stack_keys import STACK_KEYS, StackKey

API: Final = "api"
API_PORT: Final = "STRIDER_API_PORT"


SESSION_VARIABLE: Final = "KAFKA_SESSION_TIMEOUT"
SESSION_SECONDS: Final = 10.0


@dataclass(slots=True)
class StackPlan:
    """Addresses of one run of the stack; ports are added as services come."""

    home: StackDirectory
    environment: Mapping[str, str]
    services: tuple[ServiceKind, ...]
    ports: dict[str, int]
    """Remembered ports by name."""
    external: Mapping[str, str] = field(init=False)
    servers: dict[str, StackServer] = field(default_factory=dict)
    allows_private: bool = field(init=False)
    setting_digests: Mapping[str, str] = field(init=False)
    keys: Mapping[StackKey, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Read what the environment names."""
        self.external = external_endpoints(self.environment)
        self.allows_private = common_settings(self.environment).crawl.allow_private
        self.setting_digests = setting_digests(self.environment, self.services)
        self.keys = {key: key.provide(self.home, self.environment) for key in STACK_KEYS}

    def wanted_servers(self, desired: DesiredState) -> tuple[str, ...]:
        """Return the servers to run here: desired, and not named by the environment."""
        return tuple(name for name in SERVERS if desired.wants_server(name) and name not in self.external)

    def knows_ports(self, name: str) -> bool:
        """Whether a running server can be found: one at an unknown port is of no use."""
        return all(each in self.ports for each in PORT_NAMES[name])

    def build_server(self, name: str, *, keep_ports: bool) -> StackServer:
        """Return one server; `keep_ports` where it runs already at the remembered ports."""
        names = PORT_NAMES[name]
        if not keep_ports:
            self.ports |= choose_ports(names, self.home.root, remembered=self.ports)
        part = self._builders()[name]()
        self.servers[name] = part
        return part

    def endpoints(self, desired: DesiredState) -> dict[str, str | None]:
        """Return every endpoint of the stack; None where there is none."""
        found: dict[str, str | None] = {name: part.address for name, part in self.servers.items()}
        known: dict[str, str | None] = {name: found.get(name) for name in SERVERS}
        known["objects"] = object_store_url(self.home.data("objects"))
        known[API] = self._api_address(desired)
        return {**known, **self.external}

    def service_processes(self, desired: DesiredState) -> dict[str, ServiceProcess]:
        """Return every desired copy of every service."""
        wanted = {
            copy_name(kind.name, copy): (kind, copy)
            for kind in self.services
            for copy in range(1, desired.copies(kind.name, example=kind.example) + 1)
        }
        missing = [f"health:{name}" for name in wanted if f"health:{name}" not in self.ports]
        self.ports |= choose_ports(missing, self.home.root, remembered=self.ports)
        environment = service_environment(self.environment, endpoint_variables(self.endpoints(desired)))
        if "kafka" not in self.external:
            # On one machine silence means death: partitions of a killed service are reassigned soon.
            environment.setdefault(SESSION_VARIABLE, f"{SESSION_SECONDS:g}")
        return {name: self._service_process(*each, environment=environment) for name, each in wanted.items()}

    def _service_process(
        self, kind: ServiceKind, copy: int, *, environment: Mapping[str, str]
    ) -> ServiceProcess:
        own = {API_PORT: str(self._api_port())} if kind.name == API else {}
        own |= {key.variable: value for key, value in self.keys.items() if kind.name in key.services}
        return ServiceProcess(
            kind=kind,
            copy=copy,
            health_port=self.ports[f"health:{copy_name(kind.name, copy)}"],
            directory=self.home.root,
            environment={**environment, **own},
        )

    def _api_address(self, desired: DesiredState) -> str | None:
        if not any(kind.name == API and desired.copies(API, example=kind.example) for kind in self.services):
            return None
        return f"http://127.0.0.1:{self._api_port()}"

    def _api_port(self) -> int:
        if API not in self.ports:
            self.ports |= choose_ports((API,), self.home.root, remembered=self.ports)
        return self.ports[API]

    def _builders(self) -> Mapping[str, Callable[[], StackServer]]:
        place, ports = self.home.data, self.ports
        return {
            "kafka": lambda: build_kafka(place("kafka"), ports=ports, environment=self.environment),
            "postgres": lambda: build_postgres(
                place("postgres"), ports=ports, password=self._database_password()
            ),
            "redis": lambda: build_valkey(
                place("redis"),
                ports=ports,
                password=self._password("redis"),
                memory_mb=redis_memory_mb(self.environment),
            ),
        }

    def _database_password(self) -> str:
        """Return the database's password, which its data knows."""
        path = self.home.data("postgres.password")
        if not path.exists() and (self.home.data("postgres") / "cluster").exists():
            raise SetupFailure(
                f"{path} is gone, and the database needs its password",
                remedy="restore it, or start again by: strider down --wipe",
            )
        return self._password("postgres")

    def _password(self, server: str) -> str:
        """Return the password of a server: created once, stored beside its data."""
        path = self.home.data(f"{server}.password")
        if not path.exists():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(secrets.token_urlsafe(18))
        return path.read_text()
