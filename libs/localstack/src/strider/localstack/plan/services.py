"""Services that can run here, and the process of each copy.

Installed services are found by the entry points `strider.services`; the example pair by `strider.examples`,
which run only on request.
"""

from __future__ import annotations

import hashlib
import http.client
import importlib.metadata
import json
import sys
from asyncio import to_thread
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from strider.localstack.errors import StackNotReady
from strider.localstack.process.child import LaunchSpec
from strider.localstack.servers.ports import LOOPBACK

from .stack_keys import STACK_KEYS

SERVICES: Final = "strider.services"
EXAMPLES: Final = "strider.examples"


@dataclass(frozen=True, slots=True)
class ServiceKind:
    """A service that can be run here."""

    name: str
    module: str
    """Module for `python -m`."""
    example: bool = False


def find_services() -> tuple[ServiceKind, ...]:
    """Return every installed service, ordered by name."""
    found: dict[str, ServiceKind] = {}
    for group in (EXAMPLES, SERVICES):
        for point in importlib.metadata.entry_points(group=group):
            module = point.module.removesuffix(".__main__")
            found[point.name] = ServiceKind(point.name, module, example=group == EXAMPLES)
    return tuple(sorted(found.values(), key=lambda kind: kind.name))


SERVICE_STOP_SECONDS: Final = 25.0
"""More than the time that a service takes to finish its work."""
HEALTH_TIMEOUT_SECONDS: Final = 2.0
MAX_REASON_CHARACTERS: Final = 200
STACK_VARIABLES: Final = frozenset(
    {
        *("STRIDER_HOME", "STRIDER_CACHE", "STRIDER_JARS_URL", "STRIDER_REDIS_MEMORY_MB"),
        *("STRIDER_API_URL", "STRIDER_API_CLIENT_TOKEN"),
    }
)
"""Settings of the stack and of commands, which no service has: it would refuse most as unknown."""
_SHARED_BY_SOME: Final = ("AUTH_JWT_", "SESSION_", "STRIDER_HEADERS_", "STRIDER_OWNER_", "STRIDER_SEEDS_")
"""Beginnings of settings that several services have, and not all."""


@dataclass(frozen=True, slots=True)
class ServiceProcess:
    """One copy of a service."""

    kind: ServiceKind
    copy: int
    health_port: int
    directory: Path
    environment: Mapping[str, str]

    @property
    def name(self) -> str:
        """`fetcher`, and `fetcher-2` for the second copy."""
        return copy_name(self.kind.name, self.copy)

    @property
    def address(self) -> str:
        """URL of its health endpoint."""
        return f"http://{LOOPBACK}:{self.health_port}"

    def prepare(self) -> None:
        """Do nothing: a service stores nothing on this machine's disk."""

    def launch(self, *, log: Path, pid_file: Path) -> LaunchSpec:
        """Return its command: its module in this Python, with the endpoints in its environment."""
        own = {"STRIDER_HEALTH_HOST": LOOPBACK, "STRIDER_HEALTH_PORT": str(self.health_port)}
        return LaunchSpec(
            name=self.name,
            # -P: do not import from the current directory.
            command=(sys.executable, "-P", "-m", self.kind.module),
            directory=self.directory,
            log=log,
            pid_file=pid_file,
            environment={**self.environment, **own, "PYTHONUNBUFFERED": "1"},
            stop_timeout_seconds=SERVICE_STOP_SECONDS,
        )

    async def probe(self) -> None:
        """Request /readyz; a red response is the reason."""
        await to_thread(self._check_health)

    def _check_health(self) -> None:
        connection = http.client.HTTPConnection(LOOPBACK, self.health_port, timeout=HEALTH_TIMEOUT_SECONDS)
        try:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            body = answer.read(65536)
        except (OSError, http.client.HTTPException):
            raise StackNotReady(self.name, "its health port does not answer") from None
        finally:
            connection.close()
        if answer.status != http.HTTPStatus.OK:
            raise StackNotReady(self.name, health_reason(body) or f"/readyz answered {answer.status}")


def copy_name(service: str, copy: int) -> str:
    """Return the name of one copy of a service."""
    return service if copy == 1 else f"{service}-{copy}"


def service_environment(inherited: Mapping[str, str], endpoints: Mapping[str, str | None]) -> dict[str, str]:
    """Return a service's environment: ours, without the stack's variables and keys, plus the endpoints."""
    keys = [key.variable for key in STACK_KEYS]
    own = {*STACK_VARIABLES, *keys, *(f"{name}_FILE" for name in keys)}
    kept = {name: value for name, value in inherited.items() if name not in own}
    return kept | {name: value for name, value in endpoints.items() if value is not None}


def setting_digests(environment: Mapping[str, str], services: Iterable[ServiceKind]) -> dict[str, str]:
    """Return the settings that the environment sets, each with a digest of its value: some are secret."""
    from strider.runtime.settings.base import ServiceSettings  # noqa: PLC0415  # `strider status` needs none
    from strider.runtime.settings.loader import CONFIG_VARIABLE, setting_fields  # noqa: PLC0415

    shared = {setting.variable for setting in setting_fields(ServiceSettings)} | {CONFIG_VARIABLE}
    own = tuple("STRIDER_API_" if kind.name == "api" else _prefix(kind) for kind in services)
    return {
        name: hashlib.sha256(value.encode("utf-8", "surrogateescape")).hexdigest()
        for name, value in environment.items()
        if value and (name.removesuffix("_FILE") in shared or name.startswith((*own, *_SHARED_BY_SOME)))
    }


def _prefix(kind: ServiceKind) -> str:
    return f"{kind.name.upper().replace('-', '_')}_"


def health_reason(body: bytes) -> str:
    """Return one line from the body of /readyz."""
    try:
        reasons = json.loads(body)["reasons"]
    except (ValueError, KeyError, TypeError):
        return " ".join(body.decode("utf-8", "replace").split())[:MAX_REASON_CHARACTERS]
    return "; ".join(map(str, reasons))[:MAX_REASON_CHARACTERS]
