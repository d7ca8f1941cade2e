"""I/O of the indexer: PostgreSQL and the object store."""

from .object_texts import ObjectTextStore
from .tables import PostgresTables

__all__ = ["ObjectTextStore", "PostgresTables"]
