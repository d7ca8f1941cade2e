"""The object store of the local stack: a directory, no process."""

from __future__ import annotations

from pathlib import Path


def object_store_url(directory: Path) -> str:
    """Make the directory and name it as an object store is named."""
    directory.mkdir(parents=True, exist_ok=True)
    return directory.resolve().as_uri()
