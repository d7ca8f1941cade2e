"""The broker, PostgreSQL and uvicorn behind the API's ports."""

from .records import PostgresRecords
from .seeds import SpokenSeeds
from .server import HttpServer

__all__ = ["HttpServer", "PostgresRecords", "SpokenSeeds"]
