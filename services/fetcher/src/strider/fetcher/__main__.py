"""settings -> names, connections, marks -> topology -> run."""

from __future__ import annotations

import os
import socket
import uuid
from functools import partial
from typing import Final

from strider.frontier.redis.lease_marks import RedisLeaseMarks
from strider.runtime.consumer.spec import AsyncStep
from strider.runtime.observability.logging import logger
from strider.runtime.process.consumers import drain_seconds
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.runtime.process.readiness import Dependency
from strider.storage.encryption import SecretCipher
from strider.storage.objects import ObjectOptions, open_object_store
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.proxy_table import ProxyTable
from strider.storage.redis import connect, redis_options
from strider.storage.worker_heartbeats import RedisWorkerHeartbeats

from .adapters import FetchClient, open_fetch_client, raise_open_file_limit, rules_of
from .adapters.proxies.table_sync import ProxyTableSync
from .adapters.state.heartbeat import FetcherHeartbeat
from .adapters.state.metrics import Tally
from .adapters.state.redis_cookie_jars import RedisCookieJars
from .settings import FetcherSettings
from .topology import DEAD_LETTERS, GROUP, PRODUCES, Fetcher, loop_settings

PUBLISH_SECONDS: Final = 3.0
"""What a stop leaves for speaking, after the last request was ended."""

_log = logger("fetcher")


def build(process: ServiceContext[FetcherSettings]) -> ServiceDefinition:
    """Put the service together."""
    settings, clock = process.settings, process.clock
    raise_open_file_limit(settings.concurrency + settings.max_idle_connections)
    if not settings.crawl.contact:
        why = "sites could not tell whom to write to; only loopback is asked until STRIDER_CONTACT is set"
        _log.warning("No Contact", why=why)
    redis = connect(redis_options(settings.redis))
    url = settings.objects.url.get_secret_value()
    objects = open_object_store(ObjectOptions(url), clock=clock) if url else None
    name = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    asker = open_fetch_client(
        settings, RedisLeaseMarks(redis), clock=clock, process_name=name, jars=RedisCookieJars(redis)
    )
    tally = Tally(process.metrics, clock=clock)
    hearts = FetcherHeartbeat(
        RedisWorkerHeartbeats(redis),
        tally,
        worker_id=name,
        clock=clock,
        pause_reasons=process.readiness.pauses,
    )
    fetcher = Fetcher(
        asker, rules=rules_of(settings), codec=process.codec, clock=clock, objects=objects, recorder=tally
    )
    loop = loop_settings(concurrency=settings.concurrency, max_deadline_seconds=settings.max_deadline_seconds)
    stored = () if objects is None else (objects.close,)
    background, connect_steps, close = _proxies(process, asker)
    finish_seconds = max(1.0, drain_seconds(settings.run.grace_seconds) - PUBLISH_SECONDS)
    return ServiceDefinition(
        (consume(GROUP, *fetcher.subscriptions(), settings=loop, on_given_up=fetcher.on_given_up),),
        PRODUCES,
        DEAD_LETTERS,
        dependencies=(Dependency("redis", redis.ping),),
        connect=connect_steps,
        background=(hearts.run, *background),
        on_stop=(hearts.stop, partial(asker.finish_within, finish_seconds)),
        close=(
            *close,
            hearts.close,
            asker.close,
            redis.close,
            *stored,
        ),
        objects=objects,
    )


def _proxies(
    process: ServiceContext[FetcherSettings], asker: FetchClient
) -> tuple[tuple[AsyncStep, ...], ...]:
    """Keep a table of proxies, where there are some and the settings name none: run, connect, close."""
    settings = process.settings
    if asker.proxies is None or settings.proxy_urls:
        return (), (), ()
    options = PostgresOptions(settings.postgres.dsn.get_secret_value(), application="strider-fetcher")
    postgres = Postgres(options, clock=process.clock, chance=process.chance)
    seals = SecretCipher(settings.proxy_key.get_secret_value())
    book = ProxyTableSync(ProxyTable(postgres), seals, asker.proxies, clock=process.clock)
    return (book.run,), (book.load,), (book.close, postgres.close)


def main() -> int:
    """Run until told to stop."""
    return run_service("fetcher", FetcherSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())
