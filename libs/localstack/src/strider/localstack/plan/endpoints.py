"""Endpoints of the stack: servers named by the environment, else our own.

Commands and services find a running stack by these names alone, local or not.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

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

from .services import STACK_VARIABLES

if TYPE_CHECKING:
    # Half a second of imports, which `strider status` need not wait for.
    from strider.messaging.kafka import KafkaConnection
    from strider.runtime.settings.base import ServiceSettings

VARIABLES: Final[Mapping[str, str]] = {
    "kafka": "KAFKA_BOOTSTRAP_SERVERS",
    "postgres": "POSTGRES_DSN",
    "redis": "REDIS_URL",
    "objects": "OBJECT_STORE_URL",
    "registry": "SCHEMA_REGISTRY_URL",
}
"""Name of an endpoint, and the environment variable that sets it."""

MASK: Final = "…"
"""Stands for a secret in an address that is shown."""

_SECRET_PARAMETER: Final = re.compile(r"(?i)([?&][^=&]*(?:password|secret|token|key)[^=&]*=)[^&]+")
"""A parameter of a URL with a secret as its value."""

_BETWEEN_ADDRESSES: Final = re.compile(r",(?=[a-z][a-z0-9+.-]*://)")
"""The comma between two URLs; a password may contain others."""

SECURITY_VARIABLE: Final = "KAFKA_SECURITY_PROTOCOL"


LOCAL_PAGES_GB: Final = 12
"""GiB for topics of pages on the broker of the local stack, where no setting says more."""

GIB: Final = 1024**3


def page_bytes(settings: ServiceSettings, *, is_local_stack: bool) -> int:
    """Return the bytes on disk for topics of pages; 0: as they are declared."""
    return round((settings.kafka.pages_gb or (LOCAL_PAGES_GB if is_local_stack else 0)) * GIB)


def external_endpoints(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the endpoints that the environment names: they replace servers of ours."""
    return {name: environment[variable] for name, variable in VARIABLES.items() if environment.get(variable)}


def mask_secrets(address: str) -> str:
    """Return an address, or several, with passwords and secret parameters masked; users are kept."""
    return ",".join(map(_mask_one, _BETWEEN_ADDRESSES.split(address)))


def _mask_one(address: str) -> str:
    before, at, after = address.rpartition("@")
    scheme, slashes, account = before.partition("://") if "://" in before else ("", "", before)
    user, colon, _ = account.partition(":")
    masked = f"{scheme}{slashes}{user if colon else ''}{colon}{MASK}@{after}" if at else address
    return _SECRET_PARAMETER.sub(rf"\1{MASK}", masked)


def endpoint_variables(endpoints: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the endpoints as environment variables of a service."""
    return {variable: endpoints.get(name) for name, variable in VARIABLES.items()}


def running_stack(environment: Mapping[str, str], directory: Path) -> StackState | None:
    """Return the state of the stack that runs here, or what survives of it; None where none does."""
    state = read_state(find_stack_directory(environment, directory).state)
    if state and not (state.supervisor and is_alive(state.supervisor)):
        state = surviving_state(state)
    return state if state and state.state != STOPPED else None


def read_endpoints(environment: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Return every known endpoint: the environment's, else those of the running stack."""
    stack = running_stack(environment, directory)
    running = stack.endpoints if stack else {}
    return {name: value for name, value in running.items() if value} | external_endpoints(environment)


def check_reachable(external: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Probe every server that the environment names; SetupFailure names the first that does not answer.

    Raises SettingsError for an invalid URL of an object store.
    """
    if url := external.get("objects"):
        check_object_store(url)
    for name, address in external.items():
        ask = _probe_of(name, address, environment)
        if ask is None:
            continue
        try:
            run_sync(_run_probe(ask))
        except StackNotReady as failure:
            variable = VARIABLES[name]
            raise SetupFailure(
                f"{variable} names a server that does not answer ({failure.reason})",
                remedy=f"start it, or unset {variable} to have one started here",
            ) from None


async def _run_probe(ask: Callable[[], Awaitable[None]]) -> None:
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
    if name == "registry":
        default_port = 443 if address.startswith("https") else 80
        return lambda: probe_port(name, address, default_port=default_port)
    return None


def common_settings(environment: Mapping[str, str]) -> ServiceSettings:
    """Return the common settings of services. Raises SettingsError, as each service would."""
    from strider.runtime.settings.base import ServiceSettings  # noqa: PLC0415  # see above
    from strider.runtime.settings.loader import load_settings  # noqa: PLC0415  # see above

    return load_settings(
        ServiceSettings, {k: v for k, v in environment.items() if k not in STACK_VARIABLES}
    ).settings


def kafka_connection(servers: str, environment: Mapping[str, str]) -> KafkaConnection:
    """Return the connection settings for a broker at these addresses."""
    from strider.runtime.process.main import kafka_connection as service_connection  # noqa: PLC0415  # see above

    return replace(
        service_connection(common_settings(environment)),
        bootstrap_servers=tuple(address.strip() for address in servers.split(",")),
        client_id="strider-up",
    )
