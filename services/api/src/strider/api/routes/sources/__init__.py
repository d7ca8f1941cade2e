"""Routes of sources, and the synchronisation of enabled sources with jobs."""

from .records import SourceParts, admin_routes, source_routes, source_schema

__all__ = ["SourceParts", "admin_routes", "source_routes", "source_schema"]
