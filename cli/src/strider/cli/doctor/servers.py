"""Checks of servers: Kafka, PostgreSQL, Redis, schema registry, clocks.

A server without an address is a warning, since `strider crawl` needs none. Changes nothing on a server.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from strider.cli.connections import KAFKA, POSTGRES, REDIS, SERVERS, Server
from strider.cli.output import counted
from strider.frontier.redis.admin import READY, ShardAdmin
from strider.localstack.errors import StackNotReady
from strider.localstack.plan.endpoints import VARIABLES, common_settings, kafka_connection, read_endpoints
from strider.localstack.servers.probes import probe_port
from strider.messaging.errors import InfrastructureError
from strider.messaging.kafka import KafkaBus
from strider.messaging.topics import TopicPlan, compare_topics, select_topics
from strider.runtime.settings.loader import SettingsError
from strider.storage import migrations
from strider.storage.errors import StoreFailure
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.redis import NO_EVICTION, Redis, connect, redis_options
from strider.storage.worker_heartbeats import RedisWorkerHeartbeats

from .checks import Check, CheckFinding, CheckStatus
from .leases import leases_finding

AREA: Final = "reachability"

CLOCK_WARNING_SECONDS: Final = 1.0
"""Difference of clocks from which on delays and time-outs are noticeably wrong."""
CLOCK_FAULT_SECONDS: Final = 30.0
"""Difference of clocks from which on leases and blocks end at the wrong time."""

SHOWN_TOPICS: Final = 5
"""Missing topics that are named."""

_FAILURES: Final = (InfrastructureError, StoreFailure, StackNotReady, OSError, ValueError, TimeoutError)


def server_checks(
    environment: Mapping[str, str], directory: Path, *, deadline_seconds: float
) -> Iterator[Check]:
    """Return the checks; the connections of each give up before the deadline."""
    endpoints = read_endpoints(environment, directory)
    seconds = max(0.5, deadline_seconds * 0.7)
    checkers = {
        KAFKA: lambda address: _check_kafka(address, environment, seconds),
        POSTGRES: lambda address: _check_postgres(address, seconds),
        REDIS: lambda address: _check_redis(address, environment, seconds),
    }
    for server in SERVERS:
        yield _server_check(server, endpoints.get(server.endpoint, ""), checkers[server])
    if url := endpoints.get("registry"):
        registry = Server("schema registry", "", VARIABLES["registry"], "registry")
        yield _server_check(registry, url, lambda address: _check_registry(address, seconds))


def _server_check(server: Server, address: str, checker: Any) -> Check:
    name = server.name.lower().replace(" ", "-")

    def run() -> Sequence[CheckFinding]:
        if not address:
            remedy = f"set {server.variable}, or run: strider up (strider crawl needs no server)"
            return [_finding(name, CheckStatus.WARNING, "no address is configured", remedy)]
        try:
            work: Coroutine[Any, Any, Sequence[CheckFinding]] = checker(address)
            return asyncio.run(work)
        except SettingsError:
            # The check of the settings names each: a second fault here would be about another thing.
            detail = "not checked: the settings above are invalid"
            return [_finding(name, CheckStatus.WARNING, detail, "correct the settings, and repeat")]
        except _FAILURES as failure:
            detail = str(getattr(failure, "detail", "") or failure) or type(failure).__name__
            remedy = f"start {server.name}, or correct {server.variable}"
            return [_finding(name, CheckStatus.FAULT, f"does not answer: {detail}", remedy)]

    return Check(AREA, name, run)


def _finding(name: str, status: CheckStatus, detail: str, remedy: str = "") -> CheckFinding:
    return CheckFinding(AREA, name, status, detail, remedy)


async def _check_kafka(
    servers: str, environment: Mapping[str, str], seconds: float
) -> Sequence[CheckFinding]:
    connection = replace(kafka_connection(servers, environment), request_timeout_seconds=seconds)
    bus = KafkaBus(connection)
    try:
        async with asyncio.timeout(seconds):
            await bus.ping()
    finally:
        await bus.close()
    found = [_finding("kafka", CheckStatus.OK, f"answers at {servers}")]
    topics, shards = select_topics(examples=False), common_settings(environment).run.shards
    plan, offsets = await compare_topics(connection, topics, shards=shards)
    return [*found, _topics_finding(plan, len(topics)), _offsets_finding(offsets)]


def _topics_finding(plan: TopicPlan, count: int) -> CheckFinding:
    """Return the finding about topics, partition counts and topic settings."""
    if plan.refused:
        text = "; ".join(f"{each.topic} {each.why}" for each in plan.refused)
        return _finding("topics", CheckStatus.FAULT, text, "set STRIDER_SHARDS to the partition count")
    if plan.create:
        names = ", ".join(topic.name for topic in plan.create[:SHOWN_TOPICS])
        names += " …" if len(plan.create) > SHOWN_TOPICS else ""
        detail = f"missing: {len(plan.create)} of {counted(count, 'topic')}: {names}"
        return _finding("topics", CheckStatus.FAULT, detail, "strider topics apply")
    if plan.alter:
        detail = f"settings differ: {', '.join(change.topic for change in plan.alter)}"
        return _finding("topics", CheckStatus.WARNING, detail, "strider topics diff, strider topics apply")
    return _finding("topics", CheckStatus.OK, f"{count} topics with the declared partitions and settings")


def _offsets_finding(lacking: Mapping[str, int]) -> CheckFinding:
    """Return the finding about consumer groups without committed offsets, which services need to start."""
    if lacking:
        groups = ", ".join(f"{group} ({counted(count, 'partition')})" for group, count in lacking.items())
        detail = f"groups without committed offsets: {groups}"
        return _finding("offsets", CheckStatus.FAULT, detail, "strider topics apply")
    return _finding("offsets", CheckStatus.OK, "every consumer group has committed offsets")


async def _check_postgres(dsn: str, seconds: float) -> Sequence[CheckFinding]:
    postgres = Postgres(
        PostgresOptions(
            dsn,
            application="strider-doctor",
            max_connections=1,
            connect_timeout_seconds=seconds,
            statement_timeout_seconds=seconds,
        )
    )
    try:
        await postgres.ping()
        [row] = await postgres.fetch(
            "SELECT current_setting('server_version') AS version,"
            " extract(epoch FROM clock_timestamp()) AS now"
        )
    finally:
        await postgres.close()
    found = [
        _finding("postgresql", CheckStatus.OK, f"version {row['version']}"),
        _clock_finding("PostgreSQL", float(row["now"])),
    ]
    state = await migrations.status(dsn)
    if state.is_current:
        found.append(_finding("migrations", CheckStatus.OK, f"at {state.current}, none pending"))
    else:
        detail = f"at {state.current}, {len(state.pending)} pending"
        found.append(_finding("migrations", CheckStatus.FAULT, detail, "strider migrate up"))
    return found


async def _check_redis(url: str, environment: Mapping[str, str], seconds: float) -> Sequence[CheckFinding]:
    settings = common_settings(environment)
    redis = connect(redis_options(settings.redis, url=url, timeout_seconds=seconds, max_connections=1))
    try:
        information = await redis.command("INFO")
        server_seconds, microseconds = await redis.command("TIME")
        libraries = await redis.command("FUNCTION", "LIST")
        found = [
            _finding("redis", CheckStatus.OK, _version_text(information)),
            _clock_finding("Redis", int(server_seconds) + int(microseconds) / 1e6),
            _policy_finding(information),
            _finding("redis-functions", CheckStatus.OK, _functions_text(libraries)),
        ]
        fetchers = await RedisWorkerHeartbeats(redis).count(float(server_seconds))
        found.append(leases_finding(environment, fetchers=fetchers))
        return [*found, await _shards_finding(redis, settings.run.shards)]
    finally:
        await redis.close()


def _version_text(information: Mapping[str, Any]) -> str:
    if version := information.get("valkey_version"):
        return f"Valkey {version}, {information.get('used_memory_human', '?')} used"
    return f"Redis {information.get('redis_version', '?')}, {information.get('used_memory_human', '?')} used"


def _policy_finding(information: Mapping[str, Any]) -> CheckFinding:
    policy = str(information.get("maxmemory_policy", NO_EVICTION))
    if policy == NO_EVICTION:
        return _finding("redis-memory", CheckStatus.OK, f"maxmemory-policy {policy}")
    detail = f"maxmemory-policy {policy}: keys are evicted when the memory is full"
    return _finding("redis-memory", CheckStatus.FAULT, detail, f"CONFIG SET maxmemory-policy {NO_EVICTION}")


def _functions_text(libraries: Sequence[Any]) -> str:
    count = len(libraries)
    return (
        f"{counted(count, 'library of functions')} loaded"
        if count
        else "no functions yet; services load them on first use"
    )


async def _shards_finding(redis: Redis, shards: int) -> CheckFinding:
    tending = ShardAdmin(redis)
    states = [(await tending.state(number)).state for number in range(shards)]
    ready = states.count(READY)
    detail = f"ready: {ready} of {counted(shards, 'shard')}"
    if ready == shards:
        return _finding("frontier", CheckStatus.OK, detail)
    remedy = "start a scheduler; see: strider frontier list"
    return _finding("frontier", CheckStatus.WARNING, detail, remedy)


async def _check_registry(url: str, seconds: float) -> Sequence[CheckFinding]:
    async with asyncio.timeout(seconds):
        await probe_port("registry", url, default_port=443 if url.startswith("https") else 80)
    return [_finding("schema-registry", CheckStatus.OK, "accepts connections")]


def _clock_finding(server: str, server_time: float) -> CheckFinding:
    """Compare the clock of a server with that of this machine."""
    name, difference = f"clock-{server.lower()}", server_time - time.time()
    detail = f"{server} is {abs(difference):.1f} s {'ahead of' if difference > 0 else 'behind'} this machine"
    if abs(difference) < CLOCK_WARNING_SECONDS:
        return _finding(name, CheckStatus.OK, f"{server} and this machine agree")
    is_fault = abs(difference) >= CLOCK_FAULT_SECONDS
    status = CheckStatus.FAULT if is_fault else CheckStatus.WARNING
    return _finding(name, status, detail, "synchronize both with NTP")
