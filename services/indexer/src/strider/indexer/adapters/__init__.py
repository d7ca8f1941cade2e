"""PostgreSQL and the object store behind the indexer's ports."""

from .tables import PostgresTables
from .texts import ObjectTexts

__all__ = ["ObjectTexts", "PostgresTables"]
