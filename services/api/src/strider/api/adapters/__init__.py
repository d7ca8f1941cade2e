"""The broker, PostgreSQL, Redis and uvicorn behind the API's ports."""

from .frontier import RedisLeases
from .records import PostgresRecords
from .seeds import SpokenSeeds
from .server import HttpServer

__all__ = ["HttpServer", "PostgresRecords", "RedisLeases", "SpokenSeeds"]
