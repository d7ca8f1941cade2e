"""Find the author of a page.

Sources in order of trust: meta elements, structured data, elements marked as an author, lines near the
heading, elements named like an author, links to author pages. Returns names of people or organizations as
written; addresses, accounts and template placeholders are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Final

from strider.contracts.generated.enums import PageKind
from strider.parser.core.content.plain_text import strip_markup
from strider.parser.core.content.text_blocks import MAX_LINE_CHARS, lines_near_heading
from strider.parser.core.structured.page_entities import MAX_NAMES, PageEntities, collect_names

from .metadata import MetaProperties
from .models import ASIDE, FOOTER, NAVIGATION, Anchors, HtmlExtract

MAX_AUTHOR_CHARS: Final = 200
MAX_NAME_CHARS: Final = 80
MAX_WORDS: Final = 5
"""Maximum words of a name that is not marked as one."""
MAX_FIELD_CHARS: Final = 1_000
"""Characters of a field that are inspected; a longer text is not a name."""

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
_PLACEHOLDERS: Final = frozenset(
    [
        *("undefined", "null", "none", "nil", "n/a", "na", "nan", "false", "true", "unknown", "anonymous"),
        *("author", "name", "your name", "author name", "admin", "administrator", "user", "guest"),
        *("webmaster", "editor", "root", "default", "test", "by", "full bio", "view profile"),
        *("about the author", "mon", "tue", "wed", "thu", "fri", "sat", "sun"),
    ]
)
_VARIABLE: Final = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_NOT_A_NAME: Final = re.compile(r"[<>{}\[\]=;\\#]|://|^www\.|^[@/,]|^\S+@\S+$|^[\d\W_]+$")
"""Markup, addresses, accounts, and text without a letter."""

_TRAILING_ADDRESS: Final = re.compile(r"\s*(?:<[^<>@\s]+@[^<>\s]+>|\([^()@\s]+@[^()\s]+\))\s*$")
"""An e-mail address after a name."""

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
"""Two elements in one line without white space between them."""

_NAME_END: Final = re.compile(
    r"\s*(?:[|•·‧—–;:(/\n]|\s-\s"
    r"|,?\s+(?:on|at|in|am|le|el|il|den|em|updated|published|last|posted|for)\s"
    r"|,?\s*(?:\d|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d"
    r"|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,)|$)",
    re.IGNORECASE,
)
_NAME_SEPARATOR: Final = re.compile(
    r"\s*(?:,\s*(?:and|und|et|y|e)\s|,|&|\s(?:and|und|et|y|with|mit|avec|con)\s)\s*"
)
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
_PERIPHERAL_REGIONS: Final = frozenset({NAVIGATION, FOOTER, ASIDE})


def meta_author(properties: MetaProperties) -> str:
    """Return the author that meta elements name; applies to the page as a whole."""
    for name in AUTHOR_PROPERTIES:
        if names := _valid_names(properties.all_values(name)):
            return _join_names(names)
    for name, label in properties.twitter.items():
        if (match := _LABEL.fullmatch(name)) and label.strip(" :").lower() in _AUTHOR_LABELS:
            return _join_names(_valid_names([properties.twitter.get(f"twitter:data{match[1]}", "")]))
    return ""


def _from_structured_data(html: HtmlExtract, entities: PageEntities) -> str:
    del html
    for value in entities.values_of("author", "creator"):
        if names := _valid_names(collect_names(value, entities)):
            return _join_names(names)
    return ""


def _from_marked_elements(html: HtmlExtract, entities: PageEntities) -> str:
    del entities
    return next((name for name in map(clean_name, html.marked_authors) if name and has_name_length(name)), "")


def _from_byline_elements(html: HtmlExtract, entities: PageEntities) -> str:
    """Return the first name in elements named like an author; of nested ones the innermost."""
    del entities
    names = [*filter(None, map(_name_in_line, html.bylines))]
    first = next(iter(names), "")
    return next((name for name in reversed(names) if first.startswith(name)), first)


def _from_heading_lines(html: HtmlExtract, entities: PageEntities) -> str:
    """Return the name in the lines near the heading, or in the first short line that is surely a byline."""
    del entities
    if html.blocks is None:
        return ""
    lines = [*lines_near_heading(html.blocks.blocks)]
    for line, behind in pairwise([*lines, ""]):
        if _BYLINE_START_ONLY.fullmatch(line):
            line = f"by {behind}"  # noqa: PLW2901  # one line in two elements
        if (_BYLINE_START.match(line) or _UNSPACED_BYLINE_START.match(line)) and (
            name := _name_in_line(line)
        ):
            return name
    short = (block.text for block in html.blocks.blocks if len(block.text) <= MAX_LINE_CHARS)
    return next(
        filter(None, (_name_in_line(text) for text in short if _CERTAIN_BYLINE_START.match(text))), ""
    )


def _from_author_links(html: HtmlExtract, entities: PageEntities) -> str:
    """Return the first name in the page's content that links to an author page."""
    del entities
    named = (_name_in_line(text) for text in _link_texts(html.anchors, _AUTHOR_URL))
    return next(filter(None, named), "")


def _from_user_links(html: HtmlExtract, entities: PageEntities) -> str:
    """Return the first user linked in the page's content: in a discussion, its author."""
    del entities
    names = (clean_name(text) for text in _link_texts(html.anchors, _USER_URL))
    return next((name for name in names if name and has_name_length(name)), "")


_SOURCES: Final[tuple[Callable[[HtmlExtract, PageEntities], str], ...]] = (
    _from_structured_data,
    _from_marked_elements,
    _from_heading_lines,
    _from_byline_elements,
    _from_author_links,
)
"""In order of trust."""

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
"""On products and lists, data and elements name authors of parts: reviews, entries."""


def _link_texts(anchors: Anchors, page: re.Pattern[str]) -> Iterator[str]:
    for href, text, region in zip(anchors.hrefs, anchors.texts, anchors.regions, strict=True):
        if text and region not in _PERIPHERAL_REGIONS and page.search(href):
            yield text


def _valid_names(values: Iterable[str]) -> list[str]:
    """Return the valid names among the values, without duplicates."""
    return [*dict.fromkeys(filter(None, map(clean_name, islice(values, MAX_NAMES))))]


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names)[:MAX_AUTHOR_CHARS]


def clean_name(text: str) -> str:
    """Return the name in a field of free text; empty if there is none."""
    name = _TRAILING_ADDRESS.sub("", strip_markup(text[:MAX_FIELD_CHARS]))
    if match := _BYLINE_START.match(name):
        name = name[match.end() :]
    name = name.rstrip(" ,|·•–—-:").lstrip(" |·•–—-:")
    lower = name.lower()
    if not name or len(name) > MAX_AUTHOR_CHARS or lower in _PLACEHOLDERS or _NOT_A_NAME.search(name):
        return ""
    is_variable = _VARIABLE.fullmatch(lower) and not _PLACEHOLDERS.isdisjoint(lower.split("."))
    return "" if is_variable else name


def has_name_length(name: str) -> bool:
    """Whether a text has the length of a name."""
    return len(name) <= MAX_NAME_CHARS and len(name.split()) <= MAX_WORDS + 1


def _name_in_line(text: str) -> str:
    """Return the name or names in a short line that may contain more; empty if uncertain."""
    line = " ".join(text.split())
    if len(line) > 2 * MAX_NAME_CHARS:
        return ""
    match = _BYLINE_START.match(line) or _UNSPACED_BYLINE_START.match(line)
    rest = line[match.end() :] if match else line
    end = _NAME_END.search(rest)
    whole = rest[: end.start()] if end else rest
    several = [name for name in _NAME_SEPARATOR.split(whole) if name]
    if not several or not all(_is_person(name) for name in several[:MAX_NAMES]):
        whole = several[0] if several else ""
        if not _is_person(whole):
            return ""
    return clean_name(whole)[:MAX_AUTHOR_CHARS]


def _is_person(name: str) -> bool:
    """Whether a text is written like the name of a person."""
    words = name.split()
    if not 1 <= len(words) <= MAX_WORDS or clean_name(name) != name:
        return False
    return not words[0][0].islower() and all(
        word.lower() in _PARTICLES or not (word[0].islower() or word[0].isdigit()) for word in words
    )


def find_author(
    html: HtmlExtract, entities: PageEntities, *, from_meta: str, kind: str, site_name: str
) -> str:
    """Return the author of a page; `from_meta` is the author that meta elements name."""
    if from_meta and from_meta.lower() != site_name.lower():
        return from_meta
    for source in _SOURCES_BY_KIND.get(kind, _SOURCES):
        if found := source(html, entities):
            return found
    return from_meta
