"""Settings of a job as they are typed, and as the API takes them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from strider.runtime.settings.types import parse_duration

INTERVAL_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}
_INTERVAL: Final = re.compile(r"(-?\d{1,18})\s*([a-z]+)", re.IGNORECASE)

OPTION_OF_FIELD: Final[Mapping[str, str]] = {
    "url": "URL",
    "source_id": "--source",
    "name": "--name",
    "interval_minutes": "--every",
    "interval_type": "--every",
    "schedule_enabled": "--every",
    "adaptive_scheduling": "--adaptive",
    "max_retries": "--max-retries",
    "retry_backoff_seconds": "--retry-wait",
    "crawl_settings": "--set",
    "metadata": "--metadata",
    "status": "--status",
    "limit": "--limit",
    "job_id": "JOB",
    "execution_id": "RUN",
}
"""Field of the API → option of the command that sets it."""


UNSET: Final = {"--set": "--unset", "--metadata": "--unset-metadata"}


class OptionFault(ValueError):
    """A value of an option that cannot be; the message names the option."""


def parse_interval(text: str) -> dict[str, Any]:
    """Parse `30m`, `6h` or `2d` as the fields of a recurring job. Raises OptionFault."""
    match = _INTERVAL.fullmatch(text.strip())
    unit = INTERVAL_UNITS.get(match[2][0].lower(), "") if match else ""
    if match is None or not unit or match[2].lower() not in {unit[0], unit, unit.removesuffix("s")}:
        raise OptionFault(f"--every {text}: expected minutes, hours or days, such as 30m, 6h or 2d")
    return {"interval_minutes": int(match[1]), "interval_type": unit, "schedule_enabled": True}


def parse_wait(text: str) -> int:
    """Parse the wait before a retry, in whole seconds. Raises OptionFault."""
    try:
        seconds = float(parse_duration(text))
    except ValueError as failure:
        raise OptionFault(f"--retry-wait {text}: {failure}") from None
    if not seconds.is_integer():
        raise OptionFault(f"--retry-wait {text}: expected whole seconds")
    return int(seconds)


def parse_pairs(option: str, pairs: Sequence[str]) -> dict[str, Any]:
    """Parse `name=value` pairs; a value is JSON where it can be, else a text. Raises OptionFault."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not name.strip() or not sign:
            raise OptionFault(f"{option} {pair}: expected NAME=VALUE")
        if name.strip() in found:
            raise OptionFault(f"{option} {name.strip()}: it is given more than once")
        found[name.strip()] = _value(text)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def parse_changes(option: str, pairs: Sequence[str], removed: Sequence[str]) -> dict[str, Any]:
    """Parse `name=value` pairs, and names that are removed. Raises OptionFault."""
    found = parse_pairs(option, pairs)
    for name in map(str.strip, removed):
        if not name or "=" in name:
            raise OptionFault(f"{UNSET[option]} {name}: expected NAME")
        if name in found:
            raise OptionFault(f"{UNSET[option]} {name}: {option} sets it")
        found[name] = None
    return found


def job_settings(  # each is an option
    *,
    source: str = "",
    name: str = "",
    every: str = "",
    once: bool = False,
    adaptive: bool | None = None,
    max_retries: int | None = None,
    retry_wait: str = "",
    settings: Sequence[str] = (),
    unset: Sequence[str] = (),
    metadata: Sequence[str] = (),
    unset_metadata: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the fields that are given, as the API takes them. Raises OptionFault."""
    if every and once:
        raise OptionFault("--every and --once contradict each other")
    fields: dict[str, Any] = {
        "source_id": source or None,
        "name": name or None,
        "adaptive_scheduling": adaptive,
        "max_retries": max_retries,
        "retry_backoff_seconds": parse_wait(retry_wait) if retry_wait else None,
        "crawl_settings": parse_changes("--set", settings, unset) or None,
        "metadata": parse_changes("--metadata", metadata, unset_metadata) or None,
    }
    given = {field: value for field, value in fields.items() if value is not None}
    if every:
        given |= parse_interval(every)
    if once:
        given |= {"interval_minutes": None, "schedule_enabled": False}
    return given
