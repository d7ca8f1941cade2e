"""Wiring: settings -> adapters -> routes -> run."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.contracts.owner_signature import SenderRole
from strider.frontier.redis.admin import ShardAdmin
from strider.frontier.redis.inspection import ShardInspector
from strider.messaging.errors import StartRefused
from strider.messaging.ports import epoch_ms
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.runtime.process.health import Dependency
from strider.runtime.process.main import ServiceContext, ServiceDefinition, run_service
from strider.runtime.publishing.publisher import EventPublisher
from strider.storage.encryption import HeaderCipher
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.redis import Redis, connect, redis_options

from .adapters import (
    ConnectionLimits,
    FollowedRuns,
    HttpServer,
    KafkaSeedPublisher,
    PostgresReadModels,
    RedisLeaseRecovery,
)
from .core import is_loopback
from .routes import PRODUCES, ApiParts, SeedLimits, SeedSubmission, build_app
from .settings import ApiSettings


def build(process: ServiceContext[ApiSettings]) -> ServiceDefinition:
    """Build the service definition. The API serves before its dependencies respond, and reports them."""
    settings = process.settings
    _refuse_to_be_open(settings)
    publisher = EventPublisher(
        process.bus, process.codec, service="api", shards=settings.run.shards, clock=process.clock
    )
    owner_key = settings.owner.key.get_secret_value()
    if not owner_key:
        logger("api").emit(log_events.OWNER_KEY_MISSING)
    seeds = KafkaSeedPublisher(
        publisher, process.codec, owner_key=owner_key, timeout_seconds=settings.publish_timeout_seconds
    )
    postgres = Postgres(
        PostgresOptions(settings.postgres.dsn.get_secret_value(), application="strider-api"),
        clock=process.clock,
        chance=process.chance,
    )
    redis = connect(redis_options(settings.redis))
    runs = _follow_runs(process, publisher, redis)
    parts = _parts(process, seeds, runs, postgres, redis)
    server = HttpServer(
        build_app(parts), host=settings.host, port=settings.port, limits=_connection_limits(settings)
    )

    async def serve() -> None:
        seeds.open()
        await server.run()

    return ServiceDefinition(
        produces=PRODUCES,
        dependencies=(
            Dependency("postgres", postgres.ping),
            # Only lease recovery and counts of runs need it; but the health route reports it.
            Dependency("redis", redis.ping, is_vital=False),
        ),
        connect=(server.start,),
        background=(serve, runs.run),
        close=(server.close, runs.close, publisher.close, postgres.close, redis.close),
    )


def _follow_runs(
    process: ServiceContext[ApiSettings], publisher: EventPublisher, redis: Redis
) -> FollowedRuns:
    return FollowedRuns(
        process.bus,
        process.codec,
        ShardInspector(redis),
        publisher,
        shards=process.settings.run.shards,
        timeout_seconds=process.settings.publish_timeout_seconds,
        clock=process.clock,
        chance=process.chance,
    )


def _connection_limits(settings: ApiSettings) -> ConnectionLimits:
    return ConnectionLimits(
        total=settings.max_connections,
        per_client=settings.max_connections_per_client,
        head_seconds=settings.head_timeout_seconds,
        body_seconds=settings.body_timeout_seconds,
    )


def _refuse_to_be_open(settings: ApiSettings) -> None:
    """Refuse to listen beyond loopback without a token."""
    if not settings.token.get_secret_value() and not is_loopback(settings.host):
        raise StartRefused(
            f"STRIDER_API_HOST={settings.host} is reachable from other machines: set STRIDER_API_TOKEN, "
            "or listen on 127.0.0.1"
        )


def _parts(
    process: ServiceContext[ApiSettings],
    seeds: KafkaSeedPublisher,
    runs: FollowedRuns,
    postgres: Postgres,
    redis: Redis,
) -> ApiParts:
    settings = process.settings
    submission = SeedSubmission(
        seeds,
        read=lambda document: process.codec.decode(SEEDS_SUBMITTED, document),
        now_ms=partial(epoch_ms, process.clock),
        rules=SeedLimits(
            settings.max_seeds,
            settings.max_body_bytes,
            settings.allow_private,
            SenderRole.OWNER if settings.owner.key.get_secret_value() else SenderRole.RAW,
        ),
        protect_headers=HeaderCipher(settings.headers.key.get_secret_value()).protect,
    )
    return ApiParts(
        submission,
        PostgresReadModels(postgres),
        RedisLeaseRecovery(ShardAdmin(redis), shards=settings.run.shards),
        runs,
        process.readiness,
        version=version("strider-api"),
        token=settings.token.get_secret_value(),
    )


def main() -> int:
    """Run until told to stop."""
    return run_service("api", ApiSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())
