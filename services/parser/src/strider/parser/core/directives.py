"""What does a page ask of robots?

Directives stand in meta elements (named `robots`, or as a robot) and in X-Robots-Tag headers
(which may begin with the robot's name). Those for another robot are not ours. What follows from them
is decided by others; here they are only heard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from .readings import MetaTag

EVERY_ROBOT: Final = "robots"
HEADER: Final = "x-robots-tag"
MAX_DIRECTIVES: Final = 32
MAX_DIRECTIVE_CHARS: Final = 100

_WITH_VALUES: Final = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview", "notranslate"}
)
"""Directives before whose colon no robot's name stands."""


@dataclass(frozen=True, slots=True)
class Directives:
    """What holds for us."""

    words: tuple[str, ...] = ()
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False


def hear_directives(
    metas: Iterable[MetaTag], headers: Iterable[tuple[str, str]], *, robot: str
) -> Directives:
    """Gather the directives of a page for the robot of this name (lower case)."""
    heard = dict.fromkeys(_said(metas, headers, robot))
    words = tuple(heard)[:MAX_DIRECTIVES]
    if not words:
        return _NONE
    none = "none" in heard
    return Directives(
        words,
        noindex=none or "noindex" in heard,
        nofollow=none or "nofollow" in heard,
        noarchive="noarchive" in heard,
    )


_NONE: Final = Directives()


def _said(metas: Iterable[MetaTag], headers: Iterable[tuple[str, str]], robot: str) -> Iterator[str]:
    for meta in metas:
        if meta.name in {EVERY_ROBOT, robot}:
            yield from _split(meta.content)
    for name, value in headers:
        if name.lower() == HEADER:
            yield from _of_header(value, robot)


def _of_header(value: str, robot: str) -> Iterator[str]:
    first, colon, rest = value.partition(":")
    named = first.strip().lower()
    if not colon or named in _WITH_VALUES or "," in named:
        yield from _split(value)
    elif named in {EVERY_ROBOT, "*", robot}:
        yield from _split(rest)


def _split(text: str) -> Iterator[str]:
    for part in text.lower().split(","):
        word = part.strip()
        if word:
            yield word[:MAX_DIRECTIVE_CHARS]
