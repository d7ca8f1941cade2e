"""Templates of URLs: what the URLs of one generated kind of page have in common.

    /calendar/2031/07            ──▶ /calendar/{n}/{n}      made up, because it has dates
    /item/4711                   ──▶ /item/{n}
    /cart;jsessionid=8F3A…       ──▶ /cart;jsessionid       made up
    /news/all/news/about         ──▶ /about/all/news/{repeated}    made up
    /shop?size=m&color=red&p=2   ──▶ /shop?color&p&size     made up; also /shop?*, for any parameters

Calendars, filters and session ids make URLs without end from few templates. Whether their pages are worth
fetching is not decided here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .wire_url import path_start

MAX_REPEATS: Final = 3
"""Times that a part of a path may follow itself."""
_CHECKED_SEGMENTS: Final = 64
"""Segments at the end of a path that are searched for repetitions: there it grows."""
_MAX_PERIOD: Final = 8
"""Segments of the longest part whose repetition is found."""
MIN_REPEATING_SLASHES: Final = MAX_REPEATS + 3
"""Slashes of the shortest URL with too many repeats: two of the scheme, and one before each segment."""

_PARAMETER_VALUE: Final = re.compile(r"=[^/]*")
_ID: Final = re.compile(
    r"(?<![^/;])(?:[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|(?=[a-fA-F]*\d)[0-9a-fA-F]{8,}"
    r"|(?=[^/]*\d)(?=[^/]*[A-Za-z])[A-Za-z0-9_]{16,})(?![^/;])"
)
"""A segment that is a hash, a UUID, or a long mixture of letters and digits."""
_NUMBER: Final = re.compile(r"\d+")
_DATE: Final = re.compile(
    r"(?<!\d)(?:19|20|21)\d\d(?:[/._-]?(?:0?[1-9]|1[0-2]))(?![\d])|(?<!\d)(?:19|20|21)\d{6}(?!\d)"
)
"""A year with a month, or a whole date."""


@dataclass(frozen=True, slots=True)
class UrlTemplate:
    """Template of a URL, without its host."""

    text: str
    is_variable: bool = False
    """Whether other URLs have the same template."""
    is_made_up: bool = False
    """Whether a date, an id or parameters make URLs without end."""
    wider: str = ""
    """Template that does not depend on the names of the parameters; empty with less than two of them."""


def url_template(url: str) -> UrlTemplate:
    """Return the template of a wire URL."""
    path, mark, query = url[path_start(url) :].partition("?")
    short = _PARAMETER_VALUE.sub("", path) if ";" in path else path
    template = _NUMBER.sub("{n}", named := _ID.sub("{id}", short))
    is_made_up = bool(mark) or named != path or _DATE.search(path) is not None
    if again := _repeated_words(path):
        template, is_made_up = again, True
    if not mark:
        return UrlTemplate(template, template != path, is_made_up)
    names = sorted({_NUMBER.sub("{n}", part.partition("=")[0]) for part in query.split("&") if part})
    wider = f"{template}?*" if len(names) > 1 else ""
    return UrlTemplate(f"{template}?{'&'.join(names)}", is_variable=True, is_made_up=True, wider=wider)


def _repeated_words(path: str) -> str:
    """Return the template of a path that has a word twice, whatever the order; empty for other paths."""
    words = [segment for segment in path.split("/") if segment and not segment.isdigit()]
    if len(words) == len(distinct := set(words)):
        return ""
    return f"/{'/'.join(sorted(distinct))}/{{repeated}}"


def repeated_path_fault(url: str) -> str:
    """Return why a path cannot be a page's own; empty for other paths, at the cost of counting slashes."""
    if url.count("/") < MIN_REPEATING_SLASHES or not (part := repeated_path(url)):
        return ""
    return f"the path repeats {part} more than {MAX_REPEATS} times"


def repeated_path(url: str) -> str:
    """Return the part of a path that follows itself more often than it may; empty for none.

    Servers that answer `/a/b/` with a relative link to `a/b/` make `/a/b/a/b/a/b/…`.
    """
    path = url[path_start(url) :].partition("?")[0]
    segments = [segment for segment in path.split("/")[-_CHECKED_SEGMENTS:] if segment]
    if len(segments) - len(set(segments)) < MAX_REPEATS:
        return ""
    for period in range(1, min(_MAX_PERIOD, len(segments) // (MAX_REPEATS + 1)) + 1):
        equal = 0
        for at in range(period, len(segments)):
            equal = equal + 1 if segments[at] == segments[at - period] else 0
            if equal >= MAX_REPEATS * period:
                return "/" + "/".join(segments[at - period + 1 : at + 1])
    return ""
