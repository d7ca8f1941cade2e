"""Seed tokens: compare the seeds that opened an entry, and merge them.

A token is the position of a seed: topic, partition and offset. Offsets of different partitions cannot be
compared, so an entry keeps the latest of each partition it was opened from, separated by spaces.

The target of a redirect is opened on behalf of the seed behind it, ordered by time: a seed accepted after the
target was last opened reaches it again, and a thousand seeds that all redirect to one page fetch it once.
Knows neither entries nor seen-sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

REDIRECT_PARTITION: Final = ".moved/0"
"""Pseudo-partition of redirects; its offsets are milliseconds of the server's clock."""

MAX_PARTITIONS: Final = 16
"""Partitions that an entry keeps: those of one topic and some more. The oldest is dropped first."""


def is_newer(token: str, than: str) -> bool:
    """Whether a token is newer than another; a redelivered token is not newer than itself."""
    if not token or token == than:
        return False
    offsets = _parse_token(than)
    return any(offset > offsets.get(place, -1) for place, offset in _parse_token(token).items())


def merge_tokens(token: str, before: str) -> str:
    """Return both tokens as one."""
    if not before or not token:
        return token or before
    offsets = dict(_parse_token(before))
    for place, offset in _parse_token(token).items():
        offsets[place] = max(offset, offsets.pop(place, -1))
    return _format_token(offsets)


def redirect_token(taken_at_ms: int) -> str:
    """Return the token of a seed's redirect: the time at which the seed was accepted."""
    return f"{REDIRECT_PARTITION}/{taken_at_ms}"


def opening_token(token: str, now_ms: int) -> str:
    """Return the token to open an entry with: a redirect target counts from now."""
    if REDIRECT_PARTITION not in token:
        return token
    places = _parse_token(token)
    return _format_token({**places, REDIRECT_PARTITION: max(now_ms, places[REDIRECT_PARTITION])})


def _format_token(offsets: Mapping[str, int]) -> str:
    latest = list(offsets.items())[-MAX_PARTITIONS:]
    return " ".join(f"{partition}/{offset}" for partition, offset in latest)


def _parse_token(token: str) -> Mapping[str, int]:
    parts = (each.rpartition("/") for each in token.split())
    return {partition: int(offset) for partition, _, offset in parts}
