"""Wiring: settings -> adapters -> routes -> run."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from typing import Any

from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.contracts.owner_signature import SenderRole
from strider.frontier.redis.admin import ShardAdmin
from strider.frontier.redis.inspection import ShardInspector
from strider.jobs.postgres.store import PostgresJobStore
from strider.messaging.errors import StartRefused
from strider.messaging.ports import epoch_ms
from strider.runtime.consumer.spec import AsyncStep
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.runtime.process.health import Dependency
from strider.runtime.process.main import ServiceContext, ServiceDefinition, run_service
from strider.runtime.publishing.publisher import EventPublisher
from strider.storage.encryption import HeaderCipher
from strider.storage.objects import DeadLetterObjectStore, open_configured_objects
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.redis import Redis, connect, redis_options
from strider.storage.run_logs.archive import RunLogArchive
from strider.storage.run_logs.reader import RunLogReader
from strider.storage.run_logs.redis_log import RECENT, RedisRunLogs
from strider.storage.worker_heartbeats import RedisWorkerHeartbeats

from .adapters import (
    CachedFigures,
    ConnectionLimits,
    FollowedRuns,
    HttpServer,
    KafkaRunCommands,
    KafkaSeedPublisher,
    LiveLogs,
    PostgresReadModels,
    RedisIdempotencyRecords,
    RedisLeaseRecovery,
    RedisSessions,
    SnapshotFeed,
)
from .adapters.sources import SourceServices, build_source_services
from .core import sizes_query, table_sizes
from .routes import (
    PRODUCES,
    ApiParts,
    Feeds,
    Idempotency,
    JobLogs,
    JobRules,
    LiveParts,
    OpenStreams,
    SeedLimits,
    SeedSubmission,
    SessionRules,
    TokenVerifier,
    build_app,
    health_report,
)
from .settings import ApiSettings


def build(process: ServiceContext[ApiSettings]) -> ServiceDefinition:
    """Build the service definition. The API serves before its dependencies respond, and reports them."""
    settings = process.settings
    _require_secret(settings)
    shards = settings.run.shards
    publisher = EventPublisher(process.bus, process.codec, service="api", shards=shards, clock=process.clock)
    owner_key = settings.owner.key.get_secret_value()
    if not owner_key:
        logger("api").emit(log_events.OWNER_KEY_MISSING)
    seeds = KafkaSeedPublisher(
        publisher, process.codec, owner_key=owner_key, timeout_seconds=settings.publish_timeout_seconds
    )
    postgres = _postgres(process)
    redis = connect(redis_options(settings.redis))
    objects = open_configured_objects(settings.objects, clock=process.clock)
    live, end_streams = _live_parts(process, redis, objects)
    runs = _follow_runs(process, publisher, redis)
    sources = build_source_services(process, publisher, postgres, redis)
    commands = KafkaRunCommands(publisher, process.clock)
    parts = _parts(process, seeds, postgres=postgres, redis=redis, runs=(commands, runs), sources=sources)
    app, ends = build_app(replace(parts, live=live)), (postgres.close, redis.close)
    server = HttpServer(app, host=settings.host, port=settings.port, limits=_connection_limits(settings))

    async def serve() -> None:
        seeds.open()
        await server.run()

    return ServiceDefinition(
        produces=PRODUCES,
        dependencies=(
            Dependency("postgres", postgres.ping),
            Dependency("redis", redis.ping, is_vital=False),  # seeds and lists do without it
        ),
        connect=(server.start,),
        background=(serve, runs.run, *sources.background),
        objects=objects,
        close=(end_streams, server.close, runs.close, *sources.close, publisher.close, *ends),
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


def _live_parts(
    process: ServiceContext[ApiSettings], redis: Redis, objects: DeadLetterObjectStore | None
) -> tuple[LiveParts, AsyncStep]:
    """Return the parts of logs and streams, and the step that ends all streams."""
    reader = RunLogReader(RedisRunLogs(redis), None if objects is None else RunLogArchive(objects))
    logs = LiveLogs(reader, clock=process.clock)
    health, metrics = _snapshot_feeds(process, redis)
    streams = OpenStreams(most=process.settings.max_streams, clock=process.clock)

    async def end_streams() -> None:
        for feed in (logs, health, metrics):
            feed.stop()

    return LiveParts(JobLogs(reader), Feeds(streams, logs, health, metrics, recent=RECENT)), end_streams


def _snapshot_feeds(process: ServiceContext[ApiSettings], redis: Redis) -> tuple[SnapshotFeed, SnapshotFeed]:
    """Return the feeds of the state of health, and of figures."""
    fetchers, clock = RedisWorkerHeartbeats(redis), process.clock

    async def health() -> dict[str, Any]:
        return health_report(process.readiness, version("strider-api")).model_dump()

    async def figures() -> dict[str, Any]:
        totals = await fetchers.totals()
        return {"fetchers": await fetchers.count(clock.now().timestamp()), **asdict(totals)}

    return SnapshotFeed(health, clock=clock, only_changes=True), SnapshotFeed(figures, clock=clock)


def _postgres(process: ServiceContext[ApiSettings]) -> Postgres:
    options = PostgresOptions(process.settings.postgres.dsn.get_secret_value(), application="strider-api")
    return Postgres(options, clock=process.clock, chance=process.chance)


def _connection_limits(settings: ApiSettings) -> ConnectionLimits:
    return ConnectionLimits(
        total=settings.max_connections,
        per_client=settings.max_connections_per_client,
        head_seconds=settings.head_timeout_seconds,
        body_seconds=settings.body_timeout_seconds,
    )


def _require_secret(settings: ApiSettings) -> None:
    """Refuse to start without the secret of tokens: no request could be served, or every one."""
    if not settings.auth.jwt_secret.get_secret_value():
        raise StartRefused(
            "AUTH_JWT_SECRET is not set: it signs the tokens of the API's clients; set it to the output of "
            "openssl rand -hex 32"
        )


def _parts(
    process: ServiceContext[ApiSettings],
    seeds: KafkaSeedPublisher,
    *,
    postgres: Postgres,
    redis: Redis,
    runs: tuple[KafkaRunCommands, FollowedRuns],
    sources: SourceServices,
) -> ApiParts:
    settings, shards = process.settings, process.settings.run.shards
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
        RedisLeaseRecovery(ShardAdmin(redis), shards=shards),
        PostgresJobStore(postgres),
        JobRules(settings.max_body_bytes, settings.allow_private),
        *runs,
        process.readiness,
        _token_verifier(process),
        _session_rules(settings, redis),
        _public_figures(process, postgres, redis, runs[1]),
        Idempotency(RedisIdempotencyRecords(redis), settings.max_body_bytes),
        sources.parts,
        version=version("strider-api"),
        shards=shards,
    )


def _token_verifier(process: ServiceContext[ApiSettings]) -> TokenVerifier:
    secrets = process.settings.auth.jwt_secret.get_secret_value()
    return TokenVerifier(secrets, now_seconds=lambda: process.clock.now().timestamp())


def _session_rules(settings: ApiSettings, redis: Redis) -> SessionRules:
    session = settings.session
    return SessionRules(
        RedisSessions(redis),
        session.secret.get_secret_value() or settings.auth.jwt_secret.get_secret_value(),
        lifetime_seconds=session.hours * 3600,
        is_cookie_secure=session.cookie_secure,
    )


def _public_figures(
    process: ServiceContext[ApiSettings], postgres: Postgres, redis: Redis, runs: FollowedRuns
) -> CachedFigures:
    """Return the public statistics, of which each part may be away."""
    records, fetchers = PostgresReadModels(postgres), RedisWorkerHeartbeats(redis)

    async def tables() -> dict[str, Any]:
        return table_sizes(await records.find(sizes_query()))

    async def states() -> dict[str, Any]:
        return {"runs": await runs.state_counts()}

    async def workers() -> dict[str, Any]:
        totals = await fetchers.totals()
        return {
            "fetchers": await fetchers.count(process.clock.now().timestamp()),
            "pages_fetched": totals.pages_crawled,
            "bytes_fetched": totals.bytes_downloaded,
        }

    return CachedFigures({"postgres": tables, "runs": states, "redis": workers}, clock=process.clock)


def main() -> int:
    """Run until told to stop."""
    return run_service("api", ApiSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())
