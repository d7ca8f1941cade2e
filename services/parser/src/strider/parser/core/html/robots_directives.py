"""What does a page ask of robots?

Directives stand in meta elements (named `robots`, or as a robot) and in X-Robots-Tag headers
(which may begin with the robot's name, and go on with those of others). Those for another robot are not
ours. What follows from them is decided by others; here they are only heard, also where they stand between
semicolons or spaces instead of commas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from .models import MetaTag

ANY_ROBOT: Final = "robots"
X_ROBOTS_TAG: Final = "x-robots-tag"
MAX_DIRECTIVES: Final = 32
MAX_DIRECTIVE_CHARS: Final = 100

_VALUED_DIRECTIVES: Final = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview", "notranslate"}
)
"""Directives before whose colon no robot's name stands."""


@dataclass(frozen=True, slots=True)
class RobotsDirectives:
    """What holds for us."""

    names: tuple[str, ...] = ()
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False


def collect_directives(
    metas: Iterable[MetaTag], headers: Iterable[tuple[str, str]], *, robot_name: str
) -> RobotsDirectives:
    """Gather the directives of a page for the robot of this name (lower case)."""
    heard = dict.fromkeys(_said(metas, headers, robot_name))
    words = tuple(heard)[:MAX_DIRECTIVES]
    if not words:
        return _NO_DIRECTIVES
    none = "none" in heard
    return RobotsDirectives(
        words,
        noindex=none or "noindex" in heard,
        nofollow=none or "nofollow" in heard,
        noarchive="noarchive" in heard,
    )


_NO_DIRECTIVES: Final = RobotsDirectives()


def _said(metas: Iterable[MetaTag], headers: Iterable[tuple[str, str]], robot_name: str) -> Iterator[str]:
    for meta in metas:
        if meta.name in {ANY_ROBOT, robot_name}:
            yield from _split(meta.content)
    for name, value in headers:
        if name.lower() == X_ROBOTS_TAG:
            yield from _header_directives(value, robot_name)


def _header_directives(value: str, robot_name: str) -> Iterator[str]:
    is_ours = True
    for at, part in enumerate(_PARTING.split(value.lower())):
        named, colon, rest = part.partition(":")
        named = named.strip()
        is_named = bool(colon) and named not in _VALUED_DIRECTIVES
        if is_named and named in {ANY_ROBOT, "*", robot_name}:
            is_ours, part = True, rest  # noqa: PLW2901  # what stands behind the name
        elif is_named and (not at or _ROBOT_NAME.search(named)):
            is_ours = False
        if is_ours:
            yield from _words(part)


_PARTING: Final = re.compile("[,;]")
_ROBOT_NAME: Final = re.compile("bot|spider|crawler|slurp")
"""Within a value, what stands before a colon is a robot's name only where it looks like one."""


def _split(text: str) -> Iterator[str]:
    for part in _PARTING.split(text.lower()):
        yield from _words(part)


_KNOWN_DIRECTIVES: Final = frozenset(
    {
        *("all", "index", "noindex", "follow", "nofollow", "none", "archive", "noarchive", "nocache"),
        *("nosnippet", "noimageindex", "notranslate", "noodp", "noydir", "noai", "noimageai"),
        "indexifembedded",
    }
)
_INVISIBLE_CHARS: Final = " \t\r\n\f\v\xa0\u200b\u200c\u200d\u2060\ufeff\"'"


def _words(part: str) -> Iterator[str]:
    """Give the directives of one part: mostly one, and several where only spaces stand between them."""
    word = part.strip(_INVISIBLE_CHARS)
    several = word.split()
    if len(several) > 1 and _KNOWN_DIRECTIVES.issuperset(several):
        yield from several
    elif word:
        yield word[:MAX_DIRECTIVE_CHARS]
