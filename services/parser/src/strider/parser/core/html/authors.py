"""Who wrote a page?

Takes what meta elements say, its structured data, elements that are marked or named as an author's, links to
pages of authors, and the lines about the heading: in this order of trust. Gives names of people or bodies, as
they are said; what only looks like one (an address, an account, a template's blank) is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Final

from strider.contracts.generated.enums import PageKind
from strider.parser.core.content.plain_text import strip_markup
from strider.parser.core.content.text_blocks import MAX_LINE_CHARS, lines_near_heading
from strider.parser.core.structured.page_entities import MAX_NAMES, PageEntities, names_of

from .metadata import MetaProperties
from .models import ASIDE, FOOTER, NAVIGATION, Anchors, HtmlExtract

MAX_AUTHOR_CHARS: Final = 200
MAX_NAME_CHARS: Final = 80
MAX_WORDS: Final = 5
"""Of a name that nothing marks as one."""
MAX_LOOKED_AT: Final = 1_000
"""Characters of a field: one that is longer is no name, whatever is behind."""

AUTHOR_PROPERTIES: Final = (
    *("author", "article:author", "parsely-author", "sailthru.author", "cxenseparse:author", "byl"),
    *("authors", "dc.creator", "dcterms.creator", "dc:creator", "citation_author", "article.author"),
)
_LABEL: Final = re.compile("twitter:label([12])")
_AUTHOR_LABELS: Final = frozenset(
    [
        *("written by", "by", "author", "verfasst von", "geschrieben von", "écrit par", "escrito por"),
        *("scritto da", "geschreven door", "napisane przez", "skriven av", "skrevet av", "автор", "written"),
    ]
)
_BLANKS: Final = frozenset(
    [
        *("undefined", "null", "none", "nil", "n/a", "na", "nan", "false", "true", "unknown", "anonymous"),
        *("author", "name", "your name", "author name", "admin", "administrator", "user", "guest"),
        *("webmaster", "editor", "root", "default", "test", "by", "full bio", "view profile"),
        *("about the author", "mon", "tue", "wed", "thu", "fri", "sat", "sun"),
    ]
)
_VARIABLE: Final = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_NOT_A_NAME: Final = re.compile(r"[<>{}\[\]=;\\#]|://|^www\.|^[@/,]|^\S+@\S+$|^[\d\W_]+$")
"""Markup, addresses, accounts, and what has no letter."""

_BESIDE: Final = re.compile(r"\s*(?:<[^<>@\s]+@[^<>\s]+>|\([^()@\s]+@[^()\s]+\))\s*$")
"""An address behind a name."""

_BYLINE_PHRASES: Final = (
    r"(?:written|posted|published|created|authored|reviewed|article|story|words|text|submitted|started|asked)"
    r"\s+(?:and \w+\s+)?by|verfasst von|geschrieben von|ein beitrag von|écrit par|publié par|escrito por"
    r"|publicado por|scritto da|pubblicato da|geschreven door|skrevet av|skriven av|thread starter"
)
_BYLINE_PREPOSITIONS: Final = r"by|von|par|por|door|av|autorin|autor|auteur|autore|author|автор"
_BYLINE_START: Final = re.compile(
    rf"\s*(?:{_BYLINE_PHRASES}|{_BYLINE_PREPOSITIONS})(?:\s*:\s*|\s+)", re.IGNORECASE
)
_CERTAIN_BYLINE_START: Final = re.compile(rf"\s*(?:{_BYLINE_PHRASES})(?:\s*:\s*|\s+)", re.IGNORECASE)
_BYLINE_START_ONLY: Final = re.compile(
    rf"\s*(?:{_BYLINE_PHRASES}|{_BYLINE_PREPOSITIONS})\s*:?\s*", re.IGNORECASE
)
_UNSPACED_BYLINE_START: Final = re.compile(r"(?:By|Von|Par|Por|Door)(?=[A-ZÀ-Þ][a-zß-ÿ])")
"""Two elements of one line, without white space between them."""

_END: Final = re.compile(
    r"\s*(?:[|•·‧—–;:(/\n]|\s-\s"
    r"|,?\s+(?:on|at|in|am|le|el|il|den|em|updated|published|last|posted|for)\s"
    r"|,?\s*(?:\d|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d"
    r"|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,)|$)",
    re.IGNORECASE,
)
_SEVERAL: Final = re.compile(r"\s*(?:,\s*(?:and|und|et|y|e)\s|,|&|\s(?:and|und|et|y|with|mit|avec|con)\s)\s*")
_PARTICLES: Final = frozenset(
    [
        *("de", "del", "della", "der", "den", "des", "di", "da", "dos", "das", "do", "du", "la", "le", "van"),
        *(
            "von",
            "zu",
            "zum",
            "ten",
            "ter",
            "al",
            "el",
            "bin",
            "bint",
            "ibn",
            "y",
            "e",
            "af",
            "av",
            "the",
            "of",
        ),
    ]
)
_AUTHOR_URL: Final = re.compile(
    r"/(?:authors?|staff|people|contributors?|writers?|columnists?|journalists?|reporters?|bylines?|by"
    r"|autor(?:en|es|i)?|auteurs?|autore|redaktion|redakteure?|experts?)/[^/?#]+/?(?:[?#]|$)",
    re.IGNORECASE,
)
_USER_URL: Final = re.compile(
    r"/(?:members?|users?|u|profiles?)/[^/?#]+|(?:member|profile|memberlist|user)\.php\?|[?&](?:u|uid)=\d",
    re.IGNORECASE,
)
_AROUND: Final = frozenset({NAVIGATION, FOOTER, ASIDE})


def meta_author(properties: MetaProperties) -> str:
    """Give what meta elements say, which is for the page as a whole."""
    for wanted in AUTHOR_PROPERTIES:
        if names := _names(properties.all_values(wanted)):
            return _joined(names)
    for name, label in properties.twitter.items():
        if (match := _LABEL.fullmatch(name)) and label.strip(" :").lower() in _AUTHOR_LABELS:
            return _joined(_names([properties.twitter.get(f"twitter:data{match[1]}", "")]))
    return ""


def find_author(
    html: HtmlExtract, entities: PageEntities, *, from_meta: str, kind: str, site_name: str
) -> str:
    """Give who wrote the page; `stated` is what meta elements say."""
    if from_meta and from_meta.lower() != site_name.lower():
        return from_meta
    for look in _SOURCES_BY_KIND.get(kind, _SOURCES):
        if found := look(html, entities):
            return found
    return from_meta


def _from_structured_data(reading: HtmlExtract, objects: PageEntities) -> str:
    del reading
    for value in objects.values_of("author", "creator"):
        if names := _names(names_of(value, objects)):
            return _joined(names)
    return ""


def _from_marked_elements(reading: HtmlExtract, objects: PageEntities) -> str:
    del objects
    return next((name for name in map(clean_name, reading.authors) if name and has_name_length(name)), "")


def _from_byline_elements(reading: HtmlExtract, objects: PageEntities) -> str:
    """Read the first name in elements that are called so, and of what it stands in, the innermost."""
    del objects
    names = [*filter(None, map(_name_in_line, reading.bylines))]
    first = next(iter(names), "")
    return next((name for name in reversed(names) if first.startswith(name)), first)


def _from_heading_lines(reading: HtmlExtract, objects: PageEntities) -> str:
    """Read the lines about the heading; or else the first short one that surely says by whom."""
    del objects
    if reading.blocks is None:
        return ""
    lines = [*lines_near_heading(reading.blocks.blocks)]
    for line, behind in pairwise([*lines, ""]):
        if _BYLINE_START_ONLY.fullmatch(line):
            line = f"by {behind}"  # noqa: PLW2901  # one line in two elements
        if (_BYLINE_START.match(line) or _UNSPACED_BYLINE_START.match(line)) and (
            name := _name_in_line(line)
        ):
            return name
    short = (block.text for block in reading.blocks.blocks if len(block.text) <= MAX_LINE_CHARS)
    return next(
        filter(None, (_name_in_line(text) for text in short if _CERTAIN_BYLINE_START.match(text))), ""
    )


def _from_author_links(reading: HtmlExtract, objects: PageEntities) -> str:
    """Read the first link to an author's page that stands in the page itself."""
    del objects
    named = (_name_in_line(text) for text in _link_texts(reading.anchors, _AUTHOR_URL))
    return next(filter(None, named), "")


def _from_user_links(reading: HtmlExtract, objects: PageEntities) -> str:
    """Read the first link to a user's page: in a discussion, who began it."""
    del objects
    names = (clean_name(text) for text in _link_texts(reading.anchors, _USER_URL))
    return next((name for name in names if name and has_name_length(name)), "")


_SOURCES: Final[tuple[Callable[[HtmlExtract, PageEntities], str], ...]] = (
    _from_structured_data,
    _from_marked_elements,
    _from_heading_lines,
    _from_byline_elements,
    _from_author_links,
)
"""Best first."""

_SOURCES_BY_KIND: Final[Mapping[str, tuple[Callable[[HtmlExtract, PageEntities], str], ...]]] = {
    PageKind.PRODUCT: (),
    PageKind.LIST: (),
    PageKind.FORUM: (
        _from_structured_data,
        _from_heading_lines,
        _from_marked_elements,
        _from_user_links,
        _from_byline_elements,
    ),
}
"""Data and elements of products and lists name those who wrote their parts: reviews, entries."""


def _link_texts(anchors: Anchors, page: re.Pattern[str]) -> Iterator[str]:
    for href, text, region in zip(anchors.hrefs, anchors.texts, anchors.regions, strict=True):
        if text and region not in _AROUND and page.search(href):
            yield text


def _names(said: Iterable[str]) -> list[str]:
    """Give the names among these, each once."""
    return [*dict.fromkeys(filter(None, map(clean_name, islice(said, MAX_NAMES))))]


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names)[:MAX_AUTHOR_CHARS]


def clean_name(text: str) -> str:
    """Read a name as somebody has written it into a field; empty where it is none."""
    name = _BESIDE.sub("", strip_markup(text[:MAX_LOOKED_AT]))
    if match := _BYLINE_START.match(name):
        name = name[match.end() :]
    name = name.rstrip(" ,|·•–—-:").lstrip(" |·•–—-:")
    lower = name.lower()
    if not name or len(name) > MAX_AUTHOR_CHARS or lower in _BLANKS or _NOT_A_NAME.search(name):
        return ""
    is_variable = _VARIABLE.fullmatch(lower) and not _BLANKS.isdisjoint(lower.split("."))
    return "" if is_variable else name


def has_name_length(name: str) -> bool:
    """Say whether a text has the length of a name."""
    return len(name) <= MAX_NAME_CHARS and len(name.split()) <= MAX_WORDS + 1


def _name_in_line(said: str) -> str:
    """Read the name, or names, in a short line that may say more; empty where that is not sure."""
    line = " ".join(said.split())
    if len(line) > 2 * MAX_NAME_CHARS:
        return ""
    match = _BYLINE_START.match(line) or _UNSPACED_BYLINE_START.match(line)
    rest = line[match.end() :] if match else line
    end = _END.search(rest)
    whole = rest[: end.start()] if end else rest
    several = [name for name in _SEVERAL.split(whole) if name]
    if not several or not all(_is_person(name) for name in several[:MAX_NAMES]):
        whole = several[0] if several else ""
        if not _is_person(whole):
            return ""
    return clean_name(whole)[:MAX_AUTHOR_CHARS]


def _is_person(name: str) -> bool:
    """Say whether this is written like a person's name."""
    words = name.split()
    if not 1 <= len(words) <= MAX_WORDS or clean_name(name) != name:
        return False
    return not words[0][0].islower() and all(
        word.lower() in _PARTICLES or not (word[0].islower() or word[0].isdigit()) for word in words
    )
