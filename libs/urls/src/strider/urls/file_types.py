"""File extensions of URLs: hints of what a link leads to, and no more. Pure."""

from __future__ import annotations

from typing import Final

from .wire_url import path_start

_MAX_EXTENSION_CHARACTERS: Final = 7
"""`geojson`, `parquet`; what follows a dot and is longer is part of a name."""


def file_extension(url: str) -> str:
    """Return the lower-case extension of the path's last segment, without its dot, or an empty text."""
    path = url[path_start(url) :].partition("?")[0]
    name, dot, last = path.rpartition("/")[2].rpartition(".")
    return last.lower() if dot and name and len(last) <= _MAX_EXTENSION_CHARACTERS and last.isalnum() else ""
