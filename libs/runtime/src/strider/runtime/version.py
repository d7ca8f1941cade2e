"""Version of Strider, from its package metadata."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def strider_version(*, unknown: str = "unknown") -> str:
    """Return the version; `unknown` where it runs from sources that were never installed."""
    try:
        return version("strider-runtime")
    except PackageNotFoundError:
        return unknown
