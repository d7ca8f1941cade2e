"""Which Strider this is, as its package says."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def strider_version(*, unknown: str = "unknown") -> str:
    """Version of what runs; the other word where it runs from sources that were never installed."""
    try:
        return version("strider-runtime")
    except PackageNotFoundError:
        return unknown
