"""Allowed numbers and words in seeds and crawl specs, and the errors for other values.

Declared once for all inputs: JSON seeds, Avro seeds, and command line options. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from .generated.enums import ExtractionLevel, RequestKind, Scope

DEFAULT_DEPTH: Final = 3
"""Depth of a seed that sets none, or 0."""

DEEP_CRAWL_DEPTH: Final = 5
"""Depth above which a run is reported once as unusually deep."""

MAX_DEPTH: Final = 10
"""Maximum depth: deeper crawls mostly find traps, so more is refused and nothing means "unlimited"."""

MAX_PATTERNS: Final = 32
"""Maximum number of URL patterns in `include` and `exclude` together."""

MAX_PATTERN_BYTES: Final = 2 * 1024
"""Maximum length of all URL patterns of a seed or crawl spec; it bounds what parsing them costs."""

PATTERN_LIMITS: Final = f"at most {MAX_PATTERNS} with --include and --exclude together"
"""The limits in the help of commands."""

_DELAY_SECONDS: Final = (0, 86_400)
_COMMON_RANGES: Final = {"priority": (0, 3), "max_depth": (0, MAX_DEPTH)}

_BUDGET_RANGES: Final = {
    f"max_{measure}{of}": (0, most)
    for measure, most in (("pages", 10**12), ("bytes", 10**18), ("seconds", 10**9))
    for of in ("", "_per_host", "_per_domain")
}

SEED_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    **_COMMON_RANGES,
    "delay": _DELAY_SECONDS,
    **_BUDGET_RANGES,
    "submitted_at_ms": (0, 253_402_300_799_999),
}
"""Minimum and maximum of each field; values beyond are typing errors or have a wrong unit.

A delay is at most a day, a run at most some thirty years, a time ends with the year 9999.
"""


SPEC_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    **_COMMON_RANGES,
    **_BUDGET_RANGES,
    "max_links_per_page": (0, 1_000_000),
    "max_url_bytes": (1, 65_536),
    "max_hops": (0, 100),
    "delay_seconds": _DELAY_SECONDS,
    "max_in_flight_per_group": (1, 10_000),
    "request_timeout_seconds": (0, 86_400),
    "host_patience_seconds": (0, 10**9),
    "max_tries": (0, 1_000),
    "max_body_bytes": (1, 10**12),
    "recrawl_seconds": (0, 10**9),
    "recrawl_cap_seconds": (0, 10**9),
    "feed_poll_seconds": (0, 10**9),
}
"""Allowed ranges of a crawl spec. Its delay applies to everyone who crawls the host, so it is limited too."""


SEED_WORDS: Final[Mapping[str, type[StrEnum]]] = {
    "scope": Scope,
    "kind": RequestKind,
    "extraction": ExtractionLevel,
}
"""Fields of seeds that take one word of a list. Decoding compares JSON alone with it, not Avro."""

_SHOWN_CHARS: Final = 80


def seed_word_error(name: str, word: str) -> str:
    """Return the error about a word; empty where it is in the list of its field."""
    if name not in SEED_WORDS or word in set(SEED_WORDS[name]):
        return ""
    return f"{name} is {word[:_SHOWN_CHARS]!r}, allowed: {', '.join(sorted(SEED_WORDS[name]))}"


def spec_range_error(spec: object) -> str:
    """Return the error about a crawl spec's numbers; empty where all are valid."""
    values = ((name, bounds, getattr(spec, name)) for name, bounds in SPEC_RANGES.items())
    errors = (range_error(name, value, bounds) for name, bounds, value in values if value is not None)
    return next(filter(None, errors), "")


def seed_range_error(name: str, value: float, *, display_name: str = "") -> str:
    """Return the error about a number, under the name that its sender used; empty where it is valid."""
    return range_error(display_name or name, value, SEED_RANGES[name]) if name in SEED_RANGES else ""


def range_error(called: str, value: float, bounds: tuple[int, int]) -> str:
    """Return the error about a number; empty where it is within its bounds."""
    least, most = bounds
    if least <= value <= most:
        return ""
    return f"{called} is {str(value).removesuffix('.0')}, expected {least} to {most}"
