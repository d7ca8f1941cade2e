"""Which seed opened an entry last, and does another one come after it?

A token names a place and how far it was read: topic, partition and offset of a seed. Offsets of different
places cannot be compared, so an entry keeps the latest of each place it was opened from, joined by blanks.

What a redirect leads to is opened in the name of the seed behind it, by time: a seed that was taken after
the target was opened last reaches it again, and a thousand seeds that all redirect to one page fetch it
once. Knows neither entries nor seen-sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MOVED: Final = ".moved/0"
"""The place of redirects; its offsets are milliseconds of the one clock."""

MAX_PLACES: Final = 16
"""Places that an entry remembers; the partitions of a topic, and some more. The oldest goes first."""


def is_newer(token: str, than: str) -> bool:
    """Say whether a token is not known yet: what is delivered again is not newer than itself."""
    if not token or token == than:
        return False
    known = _places(than)
    return any(offset > known.get(place, -1) for place, offset in _places(token).items())


def merged(token: str, before: str) -> str:
    """Remember one more token."""
    if not before or not token:
        return token or before
    known = dict(_places(before))
    for place, offset in _places(token).items():
        known[place] = max(offset, known.pop(place, -1))
    return _joined(known)


def redirect_token(taken_at_ms: int) -> str:
    """Name a redirect of a seed, by when that was taken."""
    return f"{MOVED}/{taken_at_ms}"


def opening_token(token: str, now_ms: int) -> str:
    """Give the token under which an entry is opened: of one that is redirected to, the time counts."""
    if MOVED not in token:
        return token
    places = _places(token)
    return _joined({**places, MOVED: max(now_ms, places[MOVED])})


def _joined(places: Mapping[str, int]) -> str:
    latest = list(places.items())[-MAX_PLACES:]
    return " ".join(f"{place}/{offset}" for place, offset in latest)


def _places(token: str) -> Mapping[str, int]:
    parts = (each.rpartition("/") for each in token.split())
    return {place: int(offset) for place, _, offset in parts}
