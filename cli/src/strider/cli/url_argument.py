"""URLs as they are typed: a bare host name means https, a path alone is refused."""

from __future__ import annotations

import re
from typing import Final

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d+(?:/|$))", re.IGNORECASE)
"""Beginning of a URL; what follows the colon of a bare host name is a port."""


def complete_url(text: str) -> str:
    """Return the URL with its scheme; raises ValueError with one sentence."""
    if text == "-":
        raise ValueError("'-' is not a URL: give URLs as arguments, this command reads none from a pipe")
    if text.startswith(("/", "?", "#")):
        raise ValueError(f"{text[:200]!r} is not a URL: give all of it, https://host{text[:40]}")
    return text if _SCHEME.match(text) else f"https://{text}"
