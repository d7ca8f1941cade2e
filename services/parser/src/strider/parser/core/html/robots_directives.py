"""Collect the robots directives of a page that apply to our robot.

Directives stand in meta elements (named `robots`, or like a robot) and in X-Robots-Tag headers (which may
start with a robot's name, and continue with those of others). Semicolons and spaces are accepted as
separators besides commas. What follows from a directive is decided elsewhere.
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
"""Directives that have a value after a colon, where otherwise a robot's name ends."""


@dataclass(frozen=True, slots=True)
class RobotsDirectives:
    """The directives that apply to our robot."""

    names: tuple[str, ...] = ()
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False


_NO_DIRECTIVES: Final = RobotsDirectives()


def collect_directives(
    metas: Iterable[MetaTag], headers: Iterable[tuple[str, str]], *, robot_name: str
) -> RobotsDirectives:
    """Return the directives of a page for the robot of this name (lower case)."""
    found = dict.fromkeys(_applicable_directives(metas, headers, robot_name))
    names = tuple(found)[:MAX_DIRECTIVES]
    if not names:
        return _NO_DIRECTIVES
    none = "none" in found
    return RobotsDirectives(
        names,
        noindex=none or "noindex" in found,
        nofollow=none or "nofollow" in found,
        noarchive="noarchive" in found,
    )


def _applicable_directives(
    metas: Iterable[MetaTag], headers: Iterable[tuple[str, str]], robot_name: str
) -> Iterator[str]:
    for meta in metas:
        if meta.name in {ANY_ROBOT, robot_name}:
            yield from _meta_directives(meta.content)
    for name, value in headers:
        if name.lower() == X_ROBOTS_TAG:
            yield from _header_directives(value, robot_name)


_SEPARATOR: Final = re.compile("[,;]")


_ROBOT_NAME: Final = re.compile("bot|spider|crawler|slurp")
"""Within a value, text before a colon is a robot's name only if it looks like one."""


def _header_directives(value: str, robot_name: str) -> Iterator[str]:
    is_ours = True
    for at, part in enumerate(_SEPARATOR.split(value.lower())):
        named, colon, rest = part.partition(":")
        named = named.strip()
        is_named = bool(colon) and named not in _VALUED_DIRECTIVES
        if is_named and named in {ANY_ROBOT, "*", robot_name}:
            is_ours, part = True, rest  # noqa: PLW2901  # what stands behind the name
        elif is_named and (not at or _ROBOT_NAME.search(named)):
            is_ours = False
        if is_ours:
            yield from _split_part(part)


def _meta_directives(text: str) -> Iterator[str]:
    for part in _SEPARATOR.split(text.lower()):
        yield from _split_part(part)


_KNOWN_DIRECTIVES: Final = frozenset(
    {
        *("all", "index", "noindex", "follow", "nofollow", "none", "archive", "noarchive", "nocache"),
        *("nosnippet", "noimageindex", "notranslate", "noodp", "noydir", "noai", "noimageai"),
        "indexifembedded",
    }
)
_INVISIBLE_CHARS: Final = " \t\r\n\f\v\xa0\u200b\u200c\u200d\u2060\ufeff\"'"


def _split_part(part: str) -> Iterator[str]:
    """Yield the directives of one part: usually one, or several if only spaces separate known ones."""
    word = part.strip(_INVISIBLE_CHARS)
    several = word.split()
    if len(several) > 1 and _KNOWN_DIRECTIVES.issuperset(several):
        yield from several
    elif word:
        yield word[:MAX_DIRECTIVE_CHARS]
