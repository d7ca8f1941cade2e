"""Which numbers a seed may say, or a crawl spec, and with what sentence another one is refused.

Declared once for every way in: the JSON door, Avro seeds, and the options of commands. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DEFAULT_DEPTH: Final = 3
"""Links that are followed from a seed that does not say, or says 0."""

DEEP_CRAWL_DEPTH: Final = 5
"""Deeper than most crawls need to go; whoever wants it is told so once."""

MAX_DEPTH: Final = 10
"""Deeper than that, a crawl meets traps and little else: more is refused, nothing means without end."""

_DELAY: Final = (0, 86_400)
_COMMON_RANGES: Final = {"priority": (0, 3), "max_depth": (0, MAX_DEPTH)}

SEED_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    **_COMMON_RANGES,
    "delay": _DELAY,
    "max_pages": (0, 10**12),
    "max_bytes": (0, 10**18),
    "max_seconds": (0, 10**9),
    "max_pages_per_host": (0, 10**12),
    "max_pages_per_domain": (0, 10**12),
    "max_bytes_per_host": (0, 10**18),
    "max_bytes_per_domain": (0, 10**18),
    "max_seconds_per_host": (0, 10**9),
    "max_seconds_per_domain": (0, 10**9),
    "submitted_at_ms": (0, 253_402_300_799_999),
}
"""Least and greatest value of a field that a person can mean; beyond lies a slip or a wrong unit.

A delay is a day at most, a run lasts some thirty years, a time ends with the year 9999.
"""


SPEC_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    **_COMMON_RANGES,
    "max_hops": (0, 100),
    "delay_seconds": _DELAY,
    "max_in_flight_per_group": (1, 10_000),
    "request_timeout_seconds": (0, 86_400),
    "host_patience_seconds": (0, 10**9),
    "max_tries": (0, 1_000),
    "max_body_bytes": (1, 10**12),
    "recrawl_seconds": (0, 10**9),
    "recrawl_cap_seconds": (0, 10**9),
}
"""The same of a crawl spec. Its delay holds for whoever crawls a host: one of a million years, too."""


def spec_range_error(spec: object) -> str:
    """Say what is wrong with a crawl spec's numbers; empty where nothing is."""
    values = ((name, bounds, getattr(spec, name)) for name, bounds in SPEC_RANGES.items())
    faults = (_fault(name, value, bounds) for name, bounds, value in values if value is not None)
    return next(filter(None, faults), "")


def seed_range_error(name: str, value: float, *, display_name: str = "") -> str:
    """Say what is wrong with a number, by the name that its sender knows; empty where nothing is."""
    return _fault(display_name or name, value, SEED_RANGES[name]) if name in SEED_RANGES else ""


def _fault(called: str, value: float, bounds: tuple[int, int]) -> str:
    least, most = bounds
    return "" if least <= value <= most else f"{called} is {value}, wanted is {least} to {most}"
