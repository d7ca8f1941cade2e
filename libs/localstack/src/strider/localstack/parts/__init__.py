"""The servers of the stack: what each needs before it starts, how it starts, and when it answers."""

from .kafka import KafkaPart
from .objects import object_store_url
from .part import Part
from .postgres import PostgresPart
from .valkey import ValkeyPart

__all__ = ["KafkaPart", "Part", "PostgresPart", "ValkeyPart", "object_store_url"]
