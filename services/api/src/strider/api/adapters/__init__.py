"""Adapters behind the API's ports: broker, PostgreSQL, Redis, uvicorn."""

from .http_connection import ConnectionLimits
from .http_server import HttpServer
from .lease_recovery import RedisLeaseRecovery
from .read_models import PostgresReadModels
from .run_states import FollowedRuns
from .seed_publisher import KafkaSeedPublisher

__all__ = [
    "ConnectionLimits",
    "FollowedRuns",
    "HttpServer",
    "KafkaSeedPublisher",
    "PostgresReadModels",
    "RedisLeaseRecovery",
]
