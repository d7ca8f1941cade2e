"""Find the next, previous and numbered pages of a list, and its URL pattern.

Takes the URL of the page, its link elements and its anchors. A rel attribute takes precedence over the text
of an anchor, which takes precedence over numbers. Only pages of the same host count.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from strider.contracts.generated.enums import PaginationStyle
from strider.urls import host_of

from .list_terms import MORE, NEXT, PREVIOUS
from .metadata import resolve_url
from .models import Anchors, LinkTag

MAX_PAGES: Final = 100
MAX_NUMBERED_LINKS: Final = 1_000
"""Maximum numbered links from which a pattern is derived."""
MAX_URL_NUMBERS: Final = 12
"""Of the numbers in a URL, how many from its end may be the page number."""
MAX_NUMBER: Final = 100_000
MAX_LABEL_CHARS: Final = 40

_NEXT_ARROWS: Final = frozenset(("\u203a » > >> → \u276f ⟩ ▶ ▸ \u203a\u203a »»").split())  # noqa: SIM905  # short
_PREVIOUS_ARROWS: Final = frozenset(("\u2039 « < << ← \u276e ⟨ ◀ ◂ \u2039\u2039 ««").split())  # noqa: SIM905  # short
_ARROWS: Final = " \t\n\r\xa0.|…-\u2013" + "".join(_NEXT_ARROWS | _PREVIOUS_ARROWS)
_NEXT_RELS: Final = ("next", "class:next")
_PREVIOUS_RELS: Final = ("prev", "previous", "class:prev")
_NUMBERED_LABEL: Final = re.compile(
    r"(?:(?:page|seite|página|страница|go to page) )?(\d{1,5})", re.IGNORECASE
)
_NUMBER_IN_URL: Final = re.compile(r"\d+")
_NOT_PAGE_NUMBER: Final = re.compile(
    r"[?&](?:limit|per_?page|page_?size|show|items_per_page|results|rows|count|num|day|month|year"
    r"|stars?|rating|score|size|qty|quantity|amount|version|level)=$"
    r"|%[0-9a-f]?$|/(?:19|20)\d\d/(?:[01]?\d/)?$|\b(?:19|20)\d\d-[01]\d-$",
    re.IGNORECASE,
)
"""Precedes a number that is a count, a month or a day, rather than a page or an offset."""

_YEARS: Final = range(1_900, 2_100)
"""Numbers in this range are years."""

_NOT_DOCUMENT: Final = re.compile(r"\.(?:jpe?g|png|gif|webp|pdf|zip|mp[34])(?:\?|$)", re.IGNORECASE)
MAX_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Pagination:
    """The pagination of a list."""

    next_url: str = ""
    previous_url: str = ""
    page_urls: tuple[str, ...] = ()
    style: str = PaginationStyle.NONE
    pattern: str = ""
    number: int = 0
    last: int = 0


def find_pagination(url: str, *, base: str, links: Sequence[LinkTag], anchors: Anchors) -> Pagination:
    """Return the pagination of a page."""
    page_host = host_of(url).removeprefix("www.")
    following, preceding = _rel_links(links, base)
    numbered: dict[str, int] = {}
    more = ""
    for href, label, rel in zip(anchors.hrefs, anchors.texts, anchors.rels, strict=True):
        if len(label) > MAX_LABEL_CHARS and not rel:
            continue
        direction, number = _classify_label(label, rel)
        if not (direction or number) or not (target := _same_host_url(href, base, page_host)):
            continue
        if direction == "next":
            following = following or (target if target != url else "")
        elif direction == "more":
            more = more or (target if target != url and _continues_list(url, target) else "")
        elif direction:
            preceding = preceding or (target if target != url else "")
        if number and len(numbered) < MAX_NUMBERED_LINKS:
            numbered.setdefault(target, number)
    return _combine(url, following or more, preceding, numbered)


def _rel_links(links: Sequence[LinkTag], base: str) -> tuple[str, str]:
    found = {"next": "", "prev": ""}
    for tag in links:
        for word in tag.rel.split():
            name = "prev" if word == "previous" else word
            if name in found and not found[name]:
                found[name] = resolve_url(tag.href, base)
    return found["next"], found["prev"]


@lru_cache(maxsize=8_192)
def _classify_label(label: str, rel: str) -> tuple[str, int]:
    """Return direction (next, previous, more or none) and page number of an anchor.

    The pages of a site share most of their anchors, so results are cached.
    """
    rels = set(rel.split())
    bare = label.strip(_ARROWS)
    match = _NUMBERED_LABEL.fullmatch(bare.replace(",", ""))
    number = int(match[1]) if match else 0
    number = number if number <= MAX_NUMBER else 0
    if not rels.isdisjoint(_NEXT_RELS) or label in _NEXT_ARROWS or NEXT.fullmatch(bare):
        return "next", number
    if not rels.isdisjoint(_PREVIOUS_RELS) or label in _PREVIOUS_ARROWS or PREVIOUS.fullmatch(bare):
        return "previous", number
    return ("more" if MORE.fullmatch(bare) else ""), number


def _same_host_url(href: str, base: str, page_host: str) -> str:
    if href.lstrip().startswith(("#", "javascript:")):
        return ""
    target = resolve_url(href, base)
    return target if target and host_of(target).removeprefix("www.") == page_host else ""


_PAGE_SUFFIX: Final = re.compile(r"/(?:page|p|seite|pagina|página)?[/-]?\d{1,5}/?")


def _continues_list(url: str, target: str) -> bool:
    """Whether a link stays in its list: the same path with another query, or with a page number appended."""
    bare = url.partition("?")[0].rstrip("/")
    there, _, query = target.partition("?")
    return (bool(query) and there.rstrip("/") == bare) or _PAGE_SUFFIX.fullmatch(
        there.removeprefix(bare)
    ) is not None


def _combine(url: str, following: str, preceding: str, numbered: dict[str, int]) -> Pagination:
    pattern, style, members = _best_pattern(url, numbered)
    if not pattern:
        style = PaginationStyle.LINK_ONLY if following or preceding else PaginationStyle.NONE
        return Pagination(following, preceding, style=style)
    number = _current_page(url, pattern, members)
    by_number = {each: target for target, each in reversed(members.items())}
    is_near = number and number + 1 in by_number
    if is_near and following and _page_of_url(following, pattern, members) > number + 1:
        following = ""  # It skips pages, such as a link to the next ten, which would be lost.
    return Pagination(
        following or (by_number.get(number + 1, "") if number else ""),
        preceding or (by_number.get(number - 1, "") if number else ""),
        tuple(target for target in members if target != url)[:MAX_PAGES],
        style,
        pattern,
        number,
        max(members.values()),
    )


_PatternGroup = dict[str, tuple[int, int]]
"""URL to the number in its label and the number in the URL."""


def _best_pattern(url: str, numbered: dict[str, int]) -> tuple[str, str, dict[str, int]]:
    """Return the URL pattern that most numbered links share."""
    groups: dict[str, _PatternGroup] = defaultdict(dict)
    for target, number in numbered.items():
        if _NOT_DOCUMENT.search(target):
            continue
        for pattern, found in _url_patterns(target):
            groups[pattern][target] = number, found
    fitting = {pattern: group for pattern, group in groups.items() if _is_consistent(url, pattern, group)}
    if not fitting:
        return "", PaginationStyle.NONE, {}
    pattern = max(fitting, key=lambda each: (len(fitting[each]) + 3 * _is_related(url, each), -len(each)))
    members = {target: number for target, (number, _) in fitting[pattern].items()}
    for target, number in numbered.items():  # The URL of the first page often has no number.
        if number == 1 and target not in members and _is_first_page(target, pattern):
            members[target] = 1
    return pattern, _pagination_style(pattern, fitting[pattern]), members


def _is_first_page(target: str, pattern: str) -> bool:
    """Whether a link may be the first page of a pattern: its query has no other parameters."""
    path, _, query = target.partition("?")
    return path.rstrip("/") in pattern and _query_names(query) <= _query_names(pattern.partition("?")[2])


_FIRST_PAGE_VALUES: Final = frozenset({"", "0", "1"})


def _query_names(query: str) -> set[str]:
    """Return the parameter names of a query, without those that select the first page."""
    pairs = (part.partition("=") for part in query.split("&"))
    return {name for name, _, value in pairs if value not in _FIRST_PAGE_VALUES}


def _url_patterns(target: str) -> Iterator[tuple[str, int]]:
    """Yield every pattern that a URL may be an instance of, with its number."""
    numbers = deque(_NUMBER_IN_URL.finditer(target, target.find("/", 8)), maxlen=MAX_URL_NUMBERS)
    positions = [
        match
        for match in numbers
        if len(match[0]) <= MAX_DIGITS and not _NOT_PAGE_NUMBER.search(target[: match.start()])
    ]
    for match in positions:
        yield f"{target[: match.start()]}{{N}}{target[match.end() :]}", int(match[0])
    for value in dict.fromkeys(match[0] for match in positions):
        own = [match for match in positions if match[0] == value]
        if len(own) > 1:  # Some URLs contain the number twice: in a name for statistics and in the parameter.
            ends = [*(match.start() for match in own[1:]), len(target)]
            rest = "".join("{N}" + target[match.end() : end] for match, end in zip(own, ends, strict=True))
            yield target[: own[0].start()] + rest, int(value)


FIRST_LINKED_PAGE: Final = 2


def _is_consistent(url: str, pattern: str, group: _PatternGroup) -> bool:
    """Whether the numbers in the URLs follow those of the labels: equal, or in even steps."""
    pairs = sorted(group.values())
    (first, found), *rest = pairs
    if first in _YEARS and first == found:
        return bool(_digits_at_pattern(url, pattern))
    if first > FIRST_LINKED_PAGE and _is_related(url, pattern) and _number_at_pattern(url, pattern) is None:
        return False  # The first page of a list links to page 2; other numbers are sizes or the like.
    if not rest:
        return found == first and _is_related(url, pattern)
    (second, further) = rest[0]
    if second == first or (further - found) % (second - first):
        return False
    step = (further - found) // (second - first)
    is_list = step > 0 and -step <= found - step * first <= 0  # counted from zero or one
    return is_list and all(other - found == step * (number - first) for number, other in rest)


def _pagination_style(pattern: str, group: _PatternGroup) -> str:
    if "?" not in pattern.partition("{N}")[0]:
        return PaginationStyle.PATH
    is_even = all(found in {number, number - 1} for number, found in group.values())
    return PaginationStyle.QUERY if is_even else PaginationStyle.OFFSET


def _is_related(url: str, pattern: str) -> bool:
    bare = url.partition("?")[0].rstrip("/")
    return pattern.startswith(bare) or bool(_digits_at_pattern(url, pattern))


def _digits_at_pattern(url: str, pattern: str) -> str:
    """Return the digits at every {N} of a pattern, if they are equal; empty otherwise."""
    before, *others = pattern.split("{N}")
    if not url.startswith(before):
        return ""
    rest = url[len(before) :]
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    return digits if rest == "".join(digits + other for other in others) else ""


def _current_page(url: str, pattern: str, members: dict[str, int]) -> int:
    """Return the number of the current page: by its label, by the pattern, or 1 without a number."""
    if url in members:
        return members[url]
    own = _page_of_url(url, pattern, members)
    return own or int(_is_related(url, pattern) and _number_at_pattern(url, pattern) is None)


def _page_of_url(url: str, pattern: str, members: dict[str, int]) -> int:
    """Return the page number of a URL by the pattern; 0 if unknown."""
    own = _number_at_pattern(url, pattern)
    if own is None:
        return 0
    pairs = sorted(
        (number, int(own_number))
        for target, number in members.items()
        if (own_number := _digits_at_pattern(target, pattern))
    )
    if len(pairs) < 2:  # noqa: PLR2004  # one pair shows no step
        return own
    (first, found), (second, further) = pairs[0], pairs[1]
    step = (further - found) / (second - first) if second != first else 1
    return round(first + (own - found) / step) if step else 0


def _number_at_pattern(url: str, pattern: str) -> int | None:
    """Return the number of a URL at the position of the pattern, in any query order; None if absent."""
    if own := _digits_at_pattern(url, pattern):
        return int(own)
    path, _, query = url.partition("?")
    before = pattern.partition("{N}")[0]
    if path.rstrip("/") != pattern.partition("?")[0].rstrip("/") or "?" not in before:
        return None
    name = re.split("[?&]", before)[-1]
    value = next((part.removeprefix(name) for part in query.split("&") if part.startswith(name)), "")
    return int(value) if name and value.isdecimal() and len(value) <= MAX_DIGITS else None
