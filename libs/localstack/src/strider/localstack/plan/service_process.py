"""A service as the supervisor sees it: one process with a health port.

It fits where a part fits, so that one keeper serves both.
"""

from __future__ import annotations

import http.client
import json
import sys
from asyncio import to_thread
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from strider.localstack.errors import StackNotReady
from strider.localstack.process.child import LaunchSpec
from strider.localstack.servers.ports import LOOPBACK

from .services import ServiceKind

SERVICE_STOP_SECONDS: Final = 25.0
"""More than the grace that a service gives itself to finish what is in hand."""
HEALTH_TIMEOUT_SECONDS: Final = 2.0
MAX_REASON_CHARACTERS: Final = 200
STACK_VARIABLES: Final = frozenset({"STRIDER_HOME", "STRIDER_CACHE", "STRIDER_JARS_URL"})
"""Settings of the stack, which are no settings of a service: it would refuse them as misspelt."""


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
        """`fetcher`, and `fetcher-2` for the second of them."""
        return copy_name(self.kind.name, self.copy)

    @property
    def address(self) -> str:
        """Where its health is told."""
        return f"http://{LOOPBACK}:{self.health_port}"

    def prepare(self) -> None:
        """Nothing: a service keeps nothing on this machine's disk."""

    def launch(self, *, log: Path, pid_file: Path) -> LaunchSpec:
        """Its module, by the Python that runs us, with the endpoints in its environment."""
        own = {"STRIDER_HEALTH_HOST": LOOPBACK, "STRIDER_HEALTH_PORT": str(self.health_port)}
        return LaunchSpec(
            name=self.name,
            # -P: the current directory is no place to import from.
            command=(sys.executable, "-P", "-m", self.kind.module),
            directory=self.directory,
            log=log,
            pid_file=pid_file,
            environment={**self.environment, **own, "PYTHONUNBUFFERED": "1"},
            stop_timeout_seconds=SERVICE_STOP_SECONDS,
        )

    async def probe(self) -> None:
        """Ask /readyz; what it answers when it is red is the reason."""
        await to_thread(self._ask)

    def _ask(self) -> None:
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
    """Name of one copy of a service."""
    return service if copy == 1 else f"{service}-{copy}"


def service_environment(inherited: Mapping[str, str], endpoints: Mapping[str, str | None]) -> dict[str, str]:
    """Say what a service finds in its environment: ours, less what is the stack's, plus the endpoints."""
    kept = {name: value for name, value in inherited.items() if name not in STACK_VARIABLES}
    return kept | {name: value for name, value in endpoints.items() if value is not None}


def health_reason(body: bytes) -> str:
    """One line for a person from what /readyz answered."""
    try:
        reasons = json.loads(body)["reasons"]
    except (ValueError, KeyError, TypeError):
        return " ".join(body.decode("utf-8", "replace").split())[:MAX_REASON_CHARACTERS]
    return "; ".join(map(str, reasons))[:MAX_REASON_CHARACTERS]
