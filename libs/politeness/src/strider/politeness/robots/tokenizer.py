"""Split a robots.txt into lines with directive and value.

Follows RFC 9309 and tolerates the mistakes that Google's parser tolerates: a missing colon, misspelt names,
HTML around the rules. Must not know agents or paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_LINE_CHARACTERS: Final = 8 * 2083 - 1
"""Maximum characters of a line: eight times the longest URL of old browsers, as in Google's parser."""

_BLANKS: Final = " \t\v\f"
_ENDS: Final = re.compile(r"\r\n|\r|\n")
_SPLIT_NAME: Final = re.compile(
    r"(user|crawl|site|request|visit)[ \t]+(agent|delay|map|rate|time)\b", re.IGNORECASE
)
"""Matches names that are often written as two words."""

_HTML: Final = re.compile(r"<(?:!doctype html|html|head|body)\b", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]{1,500}>")
_HEAD_CHARACTERS: Final = 4096


class RobotsDirective(StrEnum):
    """Kind of a line."""

    AGENT = "user-agent"
    ALLOW = "allow"
    DISALLOW = "disallow"
    DELAY = "crawl-delay"
    SITEMAP = "sitemap"


@dataclass(frozen=True, slots=True)
class RobotsLine:
    """A line with a directive."""

    number: int
    """Line number, from 1."""
    directive: RobotsDirective
    value: str
    text: str
    """The line as written, without comment and surrounding blanks."""


_SPELLINGS: Final = (
    *((name, RobotsDirective.AGENT) for name in ("user-agent", "useragent", "useg-agent", "ser-agent")),
    *(
        (name, RobotsDirective.DISALLOW)
        for name in ("disallow", "dissallow", "dissalow", "disalow", "diasllow")
    ),
    *((name, RobotsDirective.DISALLOW) for name in ("disallaw", "desallow", "dssalow", "dsallow", "diallow")),
    *((name, RobotsDirective.SITEMAP) for name in ("sitemap", "site-map")),
    ("allow", RobotsDirective.ALLOW),
    ("crawl-delay", RobotsDirective.DELAY),
    ("crawldelay", RobotsDirective.DELAY),
)
"""Prefixes of names and their meaning: `Disallowed` and `Sitemaps` are as common as other mistakes."""


def tokenize(text: str) -> Iterator[RobotsLine]:
    """Yield the lines that have a known directive."""
    is_html = _HTML.search(text, 0, _HEAD_CHARACTERS) is not None
    for number, raw in enumerate(_ENDS.split(text), 1):
        line = raw[:MAX_LINE_CHARACTERS]
        if is_html:
            line = _TAG.sub("", line)
        line = line.partition("#")[0].strip(_BLANKS)
        if line and (found := _parse_line(line)) is not None:
            yield RobotsLine(number, found[0], found[1], line)


def _parse_line(line: str) -> tuple[RobotsDirective, str] | None:
    line = _SPLIT_NAME.sub(r"\1-\2", line, count=1) if _SPLIT_NAME.match(line) else line
    name, colon, value = line.partition(":")
    name = name.strip(_BLANKS).lower()
    if colon and not any(blank in name for blank in _BLANKS):
        field = _directive_of(name)
        return None if field is None else (field, value.strip(_BLANKS))
    # The colon is missing, or belongs to the value. Two words are a directive; more are prose.
    words = line.split(None, 2)
    if len(words) != 2 or (field := _directive_of(words[0].lower())) is None:  # noqa: PLR2004  # said above
        return None
    return field, words[1]


def _directive_of(name: str) -> RobotsDirective | None:
    return next((field for spelling, field in _SPELLINGS if name.startswith(spelling)), None)
