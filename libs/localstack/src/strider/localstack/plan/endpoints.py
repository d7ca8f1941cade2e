"""Where everything is: what the environment names, else the parts of this stack.

Commands and services find a running stack by these names alone, so that it makes no difference
whose servers they are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from strider.localstack.directories import find_stack_directory
from strider.localstack.errors import SetupFailure, StackNotReady
from strider.localstack.process.identity import is_alive
from strider.localstack.process.orphans import surviving_state
from strider.localstack.servers.object_store import check_object_store
from strider.localstack.servers.probes import (
    probe_kafka,
    probe_port,
    probe_postgres,
    probe_redis,
    probe_secured_kafka,
    run_sync,
)
from strider.localstack.stack_state import STOPPED, StackState, read_state

from .connections import common_settings, kafka_connection

VARIABLES: Final[Mapping[str, str]] = {
    "kafka": "KAFKA_BOOTSTRAP_SERVERS",
    "postgres": "POSTGRES_DSN",
    "redis": "REDIS_URL",
    "objects": "OBJECT_STORE_URL",
    "search": "OPENSEARCH_URL",
    "registry": "SCHEMA_REGISTRY_URL",
}
"""Name of an endpoint, and the variable by which services are told."""

SECURITY_VARIABLE: Final = "KAFKA_SECURITY_PROTOCOL"


def external_endpoints(environment: Mapping[str, str]) -> dict[str, str]:
    """Endpoints that somebody has named: these are used instead of parts of ours."""
    return {name: environment[variable] for name, variable in VARIABLES.items() if environment.get(variable)}


def endpoint_variables(endpoints: Mapping[str, str | None]) -> dict[str, str | None]:
    """Endpoints as the environment of a service."""
    return {variable: endpoints.get(name) for name, variable in VARIABLES.items()}


def running_stack(environment: Mapping[str, str], directory: Path) -> StackState | None:
    """Say how the stack is that runs here, or what is left of it; None where none does."""
    state = read_state(find_stack_directory(environment, directory).state)
    if state and not (state.supervisor and is_alive(state.supervisor)):
        state = surviving_state(state)
    return state if state and state.state != STOPPED else None


def read_endpoints(environment: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Every endpoint that is known here: the environment's, else those of the stack that runs here."""
    stack = running_stack(environment, directory)
    running = stack.endpoints if stack else {}
    return {name: value for name, value in running.items() if value} | external_endpoints(environment)


def check_reachable(external: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Ask every server that the environment names; SetupFailure names the first that does not answer.

    Raises SettingsError for the address of an object store that is none.
    """
    if url := external.get("objects"):
        check_object_store(url)
    for name, address in external.items():
        ask = _probe_of(name, address, environment)
        if ask is None:
            continue
        try:
            run_sync(_once(ask))
        except StackNotReady as failure:
            variable = VARIABLES[name]
            raise SetupFailure(
                f"{variable} names a server that does not answer ({failure.reason})",
                remedy=f"start it, or unset {variable} to have one started here",
            ) from None


async def _once(ask: Callable[[], Awaitable[None]]) -> None:
    await ask()


def _probe_of(
    name: str, address: str, environment: Mapping[str, str]
) -> Callable[[], Awaitable[None]] | None:
    is_plain = environment.get(SECURITY_VARIABLE, "PLAINTEXT").upper() == "PLAINTEXT"
    if name == "kafka":
        return lambda: (
            probe_kafka(address) if is_plain else probe_secured_kafka(kafka_connection(address, environment))
        )
    if name == "postgres":
        return lambda: probe_postgres(address)
    if name == "redis":
        return lambda: probe_redis(address, ca_file=common_settings(environment).redis.ca_file)
    if name in ("search", "registry"):
        default_port = 443 if address.startswith("https") else 80
        return lambda: probe_port(name, address, default_port=default_port)
    return None
