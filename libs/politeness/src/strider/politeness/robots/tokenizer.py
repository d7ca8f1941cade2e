"""What does a line of a robots.txt say?

Parts a text into its lines and each line into a field and a value, as RFC 9309 has it and with the
slips that Google's parser forgives: a colon that is missing, names that are misspelt, a page of HTML
around the rules. Knows nothing of agents or paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LONGEST_LINE: Final = 8 * 2083 - 1
"""Characters of a line that are read: eight times the longest URL of old browsers, as Google has it."""

_BLANKS: Final = " \t\v\f"
_ENDS: Final = re.compile(r"\r\n|\r|\n")
_WORDS: Final = re.compile(
    r"(user|crawl|site|request|visit)[ \t]+(agent|delay|map|rate|time)\b", re.IGNORECASE
)
"""Names that are written apart as often as not."""

_HTML: Final = re.compile(r"<(?:!doctype html|html|head|body)\b", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]{1,500}>")
_HEAD_CHARACTERS: Final = 4096


class RobotsDirective(StrEnum):
    """What a line speaks of."""

    AGENT = "user-agent"
    ALLOW = "allow"
    DISALLOW = "disallow"
    DELAY = "crawl-delay"
    SITEMAP = "sitemap"


@dataclass(frozen=True, slots=True)
class RobotsLine:
    """A line that says something."""

    number: int
    """From 1."""
    directive: RobotsDirective
    value: str
    text: str
    """As it stands there, without comment and blanks at the ends."""


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
"""What a name begins with, and what it means: `Disallowed` and `Sitemaps` are as common as other slips."""


def tokenize(text: str) -> Iterator[RobotsLine]:
    """Give the lines that say something."""
    is_html = _HTML.search(text, 0, _HEAD_CHARACTERS) is not None
    for number, raw in enumerate(_ENDS.split(text), 1):
        line = raw[:LONGEST_LINE]
        if is_html:
            line = _TAG.sub("", line)
        line = line.partition("#")[0].strip(_BLANKS)
        if line and (found := _parse_line(line)) is not None:
            yield RobotsLine(number, found[0], found[1], line)


def _parse_line(line: str) -> tuple[RobotsDirective, str] | None:
    line = _WORDS.sub(r"\1-\2", line, count=1) if _WORDS.match(line) else line
    name, colon, value = line.partition(":")
    name = name.strip(_BLANKS).lower()
    if colon and not _has_blank(name):
        field = _field(name)
        return None if field is None else (field, value.strip(_BLANKS))
    # The colon was forgotten, or belongs to the value. Two words leave no doubt; more are prose.
    words = line.split(None, 2)
    if len(words) != 2 or (field := _field(words[0].lower())) is None:  # noqa: PLR2004  # said above
        return None
    return field, words[1]


def _field(name: str) -> RobotsDirective | None:
    return next((field for spelling, field in _SPELLINGS if name.startswith(spelling)), None)


def _has_blank(name: str) -> bool:
    return any(blank in name for blank in _BLANKS)
