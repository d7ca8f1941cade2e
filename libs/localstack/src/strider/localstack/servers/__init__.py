"""The servers of the stack: what each needs before it starts, how it starts, and when it answers."""

from .kafka import KafkaPart
from .object_store import object_store_url
from .postgres import PostgresPart
from .server import Part
from .valkey import ValkeyPart

__all__ = ["KafkaPart", "Part", "PostgresPart", "ValkeyPart", "object_store_url"]
