"""Where downloads are kept: once for each user, whatever number of checkouts there are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def cache_directory(environment: Mapping[str, str]) -> Path:
    """STRIDER_CACHE, else the user's cache directory as the desktop rules name it."""
    if own := environment.get("STRIDER_CACHE"):
        return Path(own).expanduser()
    if shared := environment.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "strider"
    return Path.home() / ".cache" / "strider"
