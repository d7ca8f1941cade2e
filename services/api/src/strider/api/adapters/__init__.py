"""Adapters behind the API's ports: broker, PostgreSQL, Redis, uvicorn."""

from .http_connection import ConnectionLimits
from .http_server import HttpServer
from .idempotency_records import RedisIdempotencyRecords
from .lease_recovery import RedisLeaseRecovery
from .live_logs import LiveLogs
from .read_models import PostgresReadModels
from .run_commands import KafkaRunCommands
from .run_states import FollowedRuns
from .seed_publisher import KafkaSeedPublisher
from .session_records import RedisSessions
from .snapshot_feeds import SnapshotFeed
from .statistics import CachedFigures

__all__ = [
    "CachedFigures",
    "ConnectionLimits",
    "FollowedRuns",
    "HttpServer",
    "KafkaRunCommands",
    "KafkaSeedPublisher",
    "LiveLogs",
    "PostgresReadModels",
    "RedisIdempotencyRecords",
    "RedisLeaseRecovery",
    "RedisSessions",
    "SnapshotFeed",
]
