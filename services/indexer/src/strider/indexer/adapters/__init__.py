"""PostgreSQL and the object store behind the indexer's ports."""

from .object_texts import ObjectTextStore
from .tables import PostgresTables

__all__ = ["ObjectTexts", "PostgresTables"]
