"""Wiring of the fetcher service: settings, client, topology, background tasks."""

from __future__ import annotations

import os
import socket
import uuid
from functools import partial
from typing import Final

from strider.crawl.run_log import RunLog
from strider.fetcher import log_events
from strider.frontier.redis.lease_marks import RedisLeaseMarks
from strider.runtime.consumer.spec import AsyncStep, ConsumerSpec
from strider.runtime.observability.logging import logger
from strider.runtime.process.consumers import drain_seconds
from strider.runtime.process.health import Dependency
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.storage.encryption import HeaderCipher, SecretCipher
from strider.storage.objects import open_configured_objects
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.proxy_table import ProxyTable
from strider.storage.redis import Redis, connect, redis_options
from strider.storage.run_logs.redis_log import RedisRunLogs
from strider.storage.worker_heartbeats import RedisWorkerHeartbeats

from .adapters import FetchClient, open_fetch_client, raise_open_file_limit, redirect_rules_of
from .adapters.proxies.table_sync import ProxyTableSync
from .adapters.state.heartbeat import FetcherHeartbeat
from .adapters.state.metrics import FetchMetrics
from .adapters.state.redis_cookie_jars import RedisCookieJars
from .adapters.state.sender_shares import RequestClaims, ResponsiveHosts
from .settings import FetcherSettings
from .topology import DEAD_LETTERS, GROUP, PRODUCES, Fetcher, loop_settings

PUBLISH_SECONDS: Final = 3.0
"""Time that a shutdown leaves for publishing, after the last request has ended."""

_log = logger("fetcher")


def build(process: ServiceContext[FetcherSettings]) -> ServiceDefinition:
    """Build the service definition."""
    settings, clock = process.settings, process.clock
    _check_environment(settings)
    redis = connect(redis_options(settings.redis))
    objects = open_configured_objects(settings.objects, clock=clock)
    name = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    hosts = ResponsiveHosts()
    client = open_fetch_client(
        settings,
        RedisLeaseMarks(redis),
        clock=clock,
        process_name=name,
        cookie_store=RedisCookieJars(redis),
        decrypt_header=HeaderCipher(settings.headers.key.get_secret_value()).decrypt,
        hosts=hosts,
    )
    journal = RunLog(_log, clock=clock)
    metrics = FetchMetrics(process.metrics, clock=clock, journal=journal)
    heartbeat = _heartbeat(process, redis, metrics, worker_id=name)
    rules, codec = redirect_rules_of(settings), process.codec
    fetcher = Fetcher(client, rules=rules, codec=codec, clock=clock, objects=objects, recorder=metrics)
    background, connect_steps, close = _proxy_table_steps(process, client)
    finish_seconds = max(1.0, drain_seconds(settings.run.grace_seconds) - PUBLISH_SECONDS)
    return ServiceDefinition(
        (_consumption(fetcher, settings, RequestClaims(codec, hosts)),),
        PRODUCES,
        DEAD_LETTERS,
        dependencies=(Dependency("redis", redis.ping),),
        connect=connect_steps,
        background=(heartbeat.run, journal.run, *background),
        on_stop=(heartbeat.stop, partial(client.finish_within, finish_seconds)),
        close=(*close, heartbeat.close, client.close, redis.close),
        objects=objects,
        job_logs=RedisRunLogs(redis),
    )


def _consumption(fetcher: Fetcher, settings: FetcherSettings, claims: RequestClaims) -> ConsumerSpec:
    loop = loop_settings(concurrency=settings.concurrency, max_deadline_seconds=settings.max_deadline_seconds)
    return consume(
        GROUP,
        *fetcher.subscriptions(),
        settings=loop,
        on_given_up=fetcher.on_given_up,
        claim_of=claims.claim_of,
    )


def _check_environment(settings: FetcherSettings) -> None:
    raise_open_file_limit(settings.concurrency + settings.max_idle_connections)
    if not settings.crawl.contact:
        why = "STRIDER_CONTACT is not set: sites could not contact us, so only loopback addresses are fetched"
        _log.emit(log_events.CONTACT_NOT_CONFIGURED, why=why)


def _heartbeat(
    process: ServiceContext[FetcherSettings], redis: Redis, metrics: FetchMetrics, *, worker_id: str
) -> FetcherHeartbeat:
    return FetcherHeartbeat(
        RedisWorkerHeartbeats(redis),
        metrics,
        worker_id=worker_id,
        clock=process.clock,
        pause_reasons=process.readiness.pauses,
    )


def _proxy_table_steps(
    process: ServiceContext[FetcherSettings], client: FetchClient
) -> tuple[tuple[AsyncStep, ...], ...]:
    """Return the run, connect and close steps of the proxy table, if it is used."""
    settings = process.settings
    if client.proxies is None or settings.proxy_urls:
        return (), (), ()
    options = PostgresOptions(settings.postgres.dsn.get_secret_value(), application="strider-fetcher")
    postgres = Postgres(options, clock=process.clock, chance=process.chance)
    seals = SecretCipher(settings.proxy_key.get_secret_value())
    table_sync = ProxyTableSync(ProxyTable(postgres), seals, client.proxies, clock=process.clock)
    return (table_sync.run,), (table_sync.load,), (table_sync.close, postgres.close)


def main() -> int:
    """Run the service until it is stopped."""
    return run_service("fetcher", FetcherSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())
