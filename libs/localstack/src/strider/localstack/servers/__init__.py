"""The servers of the stack: what each needs before it starts, how it starts, and when it answers."""

from .kafka import KafkaServer
from .object_store import object_store_url
from .postgres import PostgresServer
from .server import StackServer
from .valkey import ValkeyServer

__all__ = ["KafkaPart", "PostgresPart", "StackServer", "ValkeyPart", "object_store_url"]
