"""A URL as a person types it: a bare name means https, and a path alone is none."""

from __future__ import annotations

import re
from typing import Final

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d+(?:/|$))", re.IGNORECASE)
"""What a URL begins with; behind the colon of a bare name there is a port."""


def whole_url(text: str) -> str:
    """Give the URL that is meant; raises ValueError in one sentence."""
    if text == "-":
        raise ValueError("'-' is no URL: URLs are named as arguments here, and not read from a pipe")
    if text.startswith(("/", "?", "#")):
        raise ValueError(f"{text[:200]!r} is no URL: say the whole of it, https://host{text[:40]}")
    return text if _SCHEME.match(text) else f"https://{text}"
