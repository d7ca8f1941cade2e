"""Adapters behind the API's ports: broker, PostgreSQL, Redis, uvicorn."""

from .http_server import HttpServer
from .lease_recovery import RedisLeaseRecovery
from .read_models import PostgresReadModels
from .seed_publisher import KafkaSeedPublisher

__all__ = ["HttpServer", "KafkaSeedPublisher", "PostgresReadModels", "RedisLeaseRecovery"]
