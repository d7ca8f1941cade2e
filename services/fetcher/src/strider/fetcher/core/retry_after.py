"""Retry-After: a number of seconds or an HTTP date, as seconds from now.

A date (RFC 9110, 10.2.3) counts from the server's own Date header, as only the difference of two times of the
same clock is meaningful; without one our clock is used. An invalid value is -1. How much of the delay is
respected is decided by the scheduler.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

NO_RETRY_AFTER: Final = -1.0
MAX_RETRY_AFTER_SECONDS: Final = 30 * 86_400.0
"""A longer delay is reduced to this."""

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME: Final = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_DATE: Final = r"(?P<day>\d\d?)[ -](?P<month>[a-z]{3})[ -](?P<year>\d{4}|\d\d)"
_DATE_FORMATS: Final = tuple(
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        rf"\w+, +{_DATE} {_TIME} (?:GMT|UTC|[+-]0000)",
        rf"\w+ (?P<month>[a-z]{{3}}) +(?P<day>\d\d?) {_TIME} (?P<year>\d{{4}})",
    )
)
"""The date formats of RFC 9110, RFC 850 and asctime."""


def parse_retry_after(value: str, *, date: str, now_us: int) -> float:
    """Parse Retry-After, relative to the response's Date; -1 if it was not sent or is invalid."""
    value = value.strip()
    if not value:
        return NO_RETRY_AFTER
    numbers = [number.strip() for number in value.split(",")]
    if value.isascii() and all(map(str.isdigit, numbers)):
        return min(max(float(number[:12]) for number in numbers), MAX_RETRY_AFTER_SECONDS)
    until = parse_http_date(value)
    if until is None:
        return NO_RETRY_AFTER
    since = parse_http_date(date.strip())
    now_seconds = now_us / 1_000_000 if since is None else since
    return min(max(0.0, until - now_seconds), MAX_RETRY_AFTER_SECONDS)


def parse_http_date(text: str) -> float | None:
    """Parse an HTTP date in one of its three formats, as seconds since 1970."""
    for form in _DATE_FORMATS:
        match = form.fullmatch(text)
        if match is not None:
            return _timestamp(match)
    return None


def _timestamp(match: re.Match[str]) -> float | None:
    month = match["month"].lower()
    year = int(match["year"])
    if len(match["year"]) == 2:  # noqa: PLR2004  # RFC 850: 70 to 99 are in the past century
        year += 1900 if year >= 70 else 2000  # noqa: PLR2004
    try:
        moment = datetime(
            year,
            _MONTHS.index(month) + 1,
            int(match["day"]),
            int(match["hour"]),
            int(match["minute"]),
            min(int(match["second"]), 59),
            tzinfo=UTC,
        )
    except ValueError:
        return None
    return moment.timestamp()
