"""Which broker a command means, and how its failures are told: one line, one exit code.

Settings come from where the services take them, so that a broker which lets them in lets a person
in too. Exit codes: 1 the answer is no, 2 wrong words or settings, 3 the broker does not answer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import typer

from strider.localstack.plan.endpoints import common_settings, kafka_connection, read_endpoints, running_stack
from strider.messaging.errors import InfrastructureError, Unavailable
from strider.messaging.kafka import KafkaConnection
from strider.messaging.schema_registry_client import SchemaRegistryClient
from strider.runtime.observability.logging import configure_logs
from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.loader import SettingsError
from strider.runtime.settings.types import require_endpoints

T = TypeVar("T")

EXIT_FOUND: Final = 1
EXIT_USAGE: Final = 2
EXIT_UNREACHABLE: Final = 3
EXIT_INTERRUPTED: Final = 130
PATIENCE_SECONDS: Final = 10.0
"""How long a person waits for a broker before "it does not answer" is the better answer."""


@dataclass(frozen=True, slots=True)
class Target:
    """The broker that is meant, and the settings that hold here."""

    connection: KafkaConnection
    settings: ServiceSettings
    allows_private: bool = False
    """Whether private addresses are crawled there, as far as can be known here."""


def find_target(bootstrap: str, environment: Mapping[str, str], directory: Path) -> Target:
    """Find the broker: the option's, else the environment's, else that of the stack that runs here."""
    settings = common_settings(environment)
    servers = bootstrap or read_endpoints(environment, directory).get("kafka", "")
    if not servers:
        fail(
            "no broker is named: give --bootstrap, set KAFKA_BOOTSTRAP_SERVERS, or start one by: strider up",
            EXIT_USAGE,
        )
    try:
        require_endpoints(tuple(part.strip() for part in servers.split(",")))
    except ValueError as failure:
        fail(f"{'--bootstrap' if bootstrap else 'KAFKA_BOOTSTRAP_SERVERS'}: {failure}", EXIT_USAGE)
    connection = replace(kafka_connection(servers, environment), request_timeout_seconds=PATIENCE_SECONDS)
    stack = running_stack(environment, directory)
    is_its_broker = stack is not None and stack.endpoints.get("kafka") == servers
    # The services of a stack have what it was started with, and not what this shell says.
    allows = stack.allows_private if stack and is_its_broker else settings.crawl.allow_private
    return Target(connection, settings, allows)


def open_registry(settings: ServiceSettings) -> SchemaRegistryClient | None:
    """Open the schema registry, where one is set: messages may name their schema by its ids."""
    registry = settings.registry
    if not (url := registry.url.get_secret_value()):
        return None
    return SchemaRegistryClient(
        url,
        username=registry.username,
        password=registry.password.get_secret_value(),
        ca_file=registry.ca_file,
    )


def run_on_broker(bootstrap: str, work: Callable[[Target], Coroutine[Any, Any, T]]) -> T:
    """Do something on a broker; what goes wrong ends the command with one line."""
    try:
        target = find_target(bootstrap, os.environ, Path.cwd())
        # Standard output is for what was asked for; and that no attempt succeeds is said once, below.
        configure_logs("strider", stream=sys.stderr, level="warning", console=True)
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)
        return asyncio.run(work(target))
    except SettingsError as failure:
        fail("; ".join(failure.problems), EXIT_USAGE)
    except Unavailable as failure:
        fail(str(failure), EXIT_UNREACHABLE)
    except InfrastructureError as failure:
        fail(str(failure), EXIT_FOUND)
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None


def fail(line: str, code: int) -> NoReturn:
    """End the command with a reason."""
    print(f"strider: {line}", file=sys.stderr)
    raise typer.Exit(code)
