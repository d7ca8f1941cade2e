"""Sources of the api: wiring, imports from a source-manager, and its events."""

from .services import SourceServices, build_source_services

__all__ = ["SourceServices", "build_source_services"]
