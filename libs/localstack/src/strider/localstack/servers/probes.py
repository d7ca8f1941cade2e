"""Readiness probes of servers: metadata, SELECT 1, PING.

Readiness is always a reply and never a pause. The probes take addresses in the form of the environment, so
they serve external servers as well.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from strider.localstack.errors import StackNotReady
from strider.messaging.errors import InfrastructureError
from strider.storage.errors import StoreFailure

if TYPE_CHECKING:
    # The adapters take a quarter of a second to import, which `strider status` need not wait for.
    from strider.messaging.kafka import KafkaConnection

PROBE_TIMEOUT_SECONDS: Final = 3.0
RETRY_SECONDS: Final = 0.05
METADATA_API_KEY: Final = 3
METADATA_VERSION: Final = 1
"""Kafka's API key of the request, and a version that every broker since 0.10 supports."""
MAX_RESPONSE_BYTES: Final = 1_000_000

Probe = Callable[[], Awaitable[None]]
"""Probes once; raises StackNotReady when the reply is missing or wrong."""


async def probe_kafka(servers: str) -> None:
    """Request a broker's metadata and expect at least one living broker in it.

    Without a client library: at a broker that is starting it logs errors, retries and waits, and does not
    report that the broker is still fenced.
    """
    reason = "no address"
    for address in servers.split(","):
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
                brokers = await _count_brokers(*_host_and_port(address, 9092))
        except (OSError, TimeoutError, EOFError, ValueError, struct.error) as failure:
            reason = _describe(failure)
            continue
        if brokers:
            return
        reason = "the broker is fenced"
    raise StackNotReady("kafka", reason)


async def probe_secured_kafka(connection: KafkaConnection) -> None:
    """Probe a broker that requires TLS or a login, with the services' credentials."""
    from strider.messaging.kafka import KafkaBus  # noqa: PLC0415  # see above

    bus = KafkaBus(replace(connection, request_timeout_seconds=PROBE_TIMEOUT_SECONDS * 2))
    try:
        await bus.ping()
    except InfrastructureError as failure:
        raise StackNotReady("kafka", _detail(failure)) from None
    finally:
        await bus.close()


async def probe_postgres(dsn: str) -> None:
    """Run SELECT 1."""
    from strider.storage.postgres import Postgres, PostgresOptions  # noqa: PLC0415  # see above

    database = Postgres(
        PostgresOptions(dsn, connect_timeout_seconds=PROBE_TIMEOUT_SECONDS, max_connections=1)
    )
    try:
        await database.ping()
    except (InfrastructureError, StoreFailure, ValueError) as failure:
        raise StackNotReady("postgres", _detail(failure)) from None
    finally:
        await database.close()


async def probe_redis(url: str, *, ca_file: str = "") -> None:
    """Send PING."""
    from strider.storage.redis import RedisOptions, connect  # noqa: PLC0415  # see above

    try:
        store = connect(
            RedisOptions(url, timeout_seconds=PROBE_TIMEOUT_SECONDS, max_connections=1, ca_file=ca_file)
        )
    except InfrastructureError as failure:
        raise StackNotReady("redis", _detail(failure)) from None
    try:
        await store.ping()
    except (InfrastructureError, StoreFailure) as failure:
        raise StackNotReady("redis", _detail(failure)) from None
    finally:
        await store.close()


async def probe_port(name: str, addresses: str, *, default_port: int) -> None:
    """Expect at least one of several `host:port` addresses (or URLs) to accept a connection."""
    reasons = []
    for address in addresses.split(","):
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
                _, writer = await asyncio.open_connection(*_host_and_port(address, default_port))
        except (OSError, TimeoutError, ValueError) as failure:
            reasons.append(_describe(failure))
            continue
        writer.close()
        return
    raise StackNotReady(name, "; ".join(reasons))


async def wait_until(
    probe: Probe, *, seconds: float, exit_reason: Callable[[], str | None] = lambda: None
) -> None:
    """Probe until it succeeds; StackNotReady at the deadline, or when `exit_reason` returns one."""
    until = monotonic() + seconds
    while True:
        if reason := exit_reason():
            raise StackNotReady("the process", reason)
        try:
            return await probe()
        except StackNotReady:
            if monotonic() >= until:
                raise
        await asyncio.sleep(RETRY_SECONDS)


def run_sync(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end from synchronous code, also where an event loop runs already."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(work)
        except BaseException as failure:  # noqa: BLE001  # carried over to the caller's thread
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


async def _count_brokers(host: str, port: int) -> int:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        body = (
            struct.pack(">hhi", METADATA_API_KEY, METADATA_VERSION, 1)
            + struct.pack(">h", -1)
            + struct.pack(">i", 0)
        )
        writer.write(struct.pack(">i", len(body)) + body)
        (length,) = struct.unpack(">i", await reader.readexactly(4))
        answer = await reader.readexactly(min(max(length, 0), MAX_RESPONSE_BYTES))
        _, brokers = struct.unpack_from(">ii", answer)
        return int(brokers)
    finally:
        writer.close()


def _host_and_port(address: str, default_port: int) -> tuple[str, int]:
    split = urlsplit(address.strip() if "://" in address else f"//{address.strip()}")
    return split.hostname or "", split.port or default_port


def _detail(failure: Exception) -> str:
    return str(getattr(failure, "detail", failure))


def _describe(failure: BaseException) -> str:
    if isinstance(failure, TimeoutError) and not str(failure):
        return f"no reply within {PROBE_TIMEOUT_SECONDS:.0f} s"
    if isinstance(failure, ConnectionRefusedError):
        return "the connection was refused"
    return str(failure) or type(failure).__name__
