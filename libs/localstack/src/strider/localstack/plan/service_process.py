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

from strider.localstack.errors import NotReady
from strider.localstack.process.child import Launch
from strider.localstack.servers.ports import LOOPBACK

from .services import ServiceKind

GRACE_SECONDS: Final = 25.0
"""More than the grace that a service gives itself to finish what is in hand."""
ANSWER_SECONDS: Final = 2.0
LONGEST_REASON: Final = 200
STACK_ONLY: Final = frozenset({"STRIDER_HOME", "STRIDER_CACHE", "STRIDER_JARS_URL"})
"""Settings of the stack, which are no settings of a service: it would refuse them as misspelt."""


@dataclass(frozen=True, slots=True)
class ServiceUnit:
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

    def launch(self, *, log: Path, number: Path) -> Launch:
        """Its module, by the Python that runs us, with the endpoints in its environment."""
        own = {"STRIDER_HEALTH_HOST": LOOPBACK, "STRIDER_HEALTH_PORT": str(self.health_port)}
        return Launch(
            name=self.name,
            # -P: the current directory is no place to import from.
            command=(sys.executable, "-P", "-m", self.kind.module),
            directory=self.directory,
            log=log,
            number=number,
            environment={**self.environment, **own, "PYTHONUNBUFFERED": "1"},
            grace_seconds=GRACE_SECONDS,
        )

    async def probe(self) -> None:
        """Ask /readyz; what it answers when it is red is the reason."""
        await to_thread(self._ask)

    def _ask(self) -> None:
        connection = http.client.HTTPConnection(LOOPBACK, self.health_port, timeout=ANSWER_SECONDS)
        try:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            body = answer.read(65536)
        except (OSError, http.client.HTTPException):
            raise NotReady(self.name, "its health port does not answer") from None
        finally:
            connection.close()
        if answer.status != http.HTTPStatus.OK:
            raise NotReady(self.name, readable_reason(body) or f"/readyz answered {answer.status}")


def copy_name(service: str, copy: int) -> str:
    """Name of one copy of a service."""
    return service if copy == 1 else f"{service}-{copy}"


def service_environment(inherited: Mapping[str, str], endpoints: Mapping[str, str | None]) -> dict[str, str]:
    """Say what a service finds in its environment: ours, less what is the stack's, plus the endpoints."""
    kept = {name: value for name, value in inherited.items() if name not in STACK_ONLY}
    return kept | {name: value for name, value in endpoints.items() if value is not None}


def readable_reason(body: bytes) -> str:
    """One line for a person from what /readyz answered."""
    try:
        reasons = json.loads(body)["reasons"]
    except (ValueError, KeyError, TypeError):
        return " ".join(body.decode("utf-8", "replace").split())[:LONGEST_REASON]
    return "; ".join(map(str, reasons))[:LONGEST_REASON]
