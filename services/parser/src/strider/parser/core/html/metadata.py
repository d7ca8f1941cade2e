"""What does a page say about itself?

Takes what stands in its head, decides title, description, canonical URL, alternates, feeds, language,
a meta refresh and the maps of further properties. Values are clipped, maps and lists bounded: a
page may say as much as it likes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.parser.core.lists.feed_discovery import looks_like_feed_url
from strider.urls import RefusedUrl, to_wire_url

from .models import HtmlExtract, LinkTag, MetaTag

MAX_TITLE_CHARS: Final = 1_000
MAX_VALUE_CHARS: Final = 1_000
MAX_DESCRIPTION_CHARS: Final = 4_000
MAX_ENTRIES: Final = 64
"""Of each map."""
MAX_NAME_CHARS: Final = 100
MAX_ALTERNATES: Final = 100
MAX_KEYWORDS: Final = 50
MAX_REFRESH_SECONDS: Final = 1_000_000.0

_FEED_TYPES: Final = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"}
)
_REFRESH: Final = re.compile(
    r"""^\s*(?P<seconds>\d{1,9}(?:\.\d*)?|\.\d*)[^\s;,]*\s*(?:[;,\s]\s*(?:url\s*=\s*)?(?P<quote>["']?)(?P<url>.*))?$""",
    re.IGNORECASE | re.DOTALL,
)
_LANGUAGE: Final = re.compile(r"([a-zA-Z]{2,3}(?:[-_][a-zA-Z0-9]{2,8}){0,3})(?:[-_][a-zA-Z0-9][-_].*)?")
"""Without extensions (`-u-ca-gregory`), which say nothing of the language."""
_UNSPECIFIC_LANGUAGES: Final = frozenset({"und", "mul", "zxx", "mis"})
"""Tags that say that there is none, or several, or that it is not known."""
_NAMES_WITH_OWN_FIELD: Final = frozenset(
    {"", "description", "keywords", "author", "refresh", "robots", "viewport", "content-type", "charset"}
)
"""Names that say nothing further: they have fields of their own, or mean the browser."""


_OPEN_GRAPH_PREFIXES: Final = ("og:", "article:", "product:", "book:", "profile:", "video:", "music:")


@fast_dataclass(frozen=True, slots=True)
class AlternateLinks:
    """Other forms of the page: parallel tuples."""

    urls: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()


@fast_dataclass(frozen=True, slots=True)
class MetaProperties:
    """What stands in meta elements, by name; the first of a name counts."""

    plain: dict[str, str] = field(default_factory=dict)
    open_graph: dict[str, str] = field(default_factory=dict)
    twitter: dict[str, str] = field(default_factory=dict)
    first_values: dict[str, str] = field(default_factory=dict)
    """All of them: a name belongs to one family only."""
    repeated: list[tuple[str, str]] = field(default_factory=list)
    """What is said once more under a name that has been heard."""

    def all_values(self, name: str) -> list[str]:
        """Give everything that is said under a name, in the order of the page."""
        first = self.first_values.get(name)
        return [first, *(said for other, said in self.repeated if other == name)] if first else []

    def open_graph_with_lists(self) -> dict[str, str | list[str]]:
        """Give Open Graph with all values of names that come more than once, which are arrays there."""
        found: dict[str, str | list[str]] = {**self.open_graph}
        for name in dict.fromkeys(name for name, _ in self.repeated):
            if name in found:
                found[name] = self.all_values(name)
        return found

    def first_of(self, *names: str) -> str:
        """Give the first of these that says something."""
        for name in names:
            if value := self.first_values.get(name):
                return value
        return ""

    def other_properties(self) -> dict[str, str]:
        """Give the plain ones that have no field of their own, clipped and bounded."""
        return _bounded_map(
            {name: value for name, value in self.plain.items() if name not in _NAMES_WITH_OWN_FIELD}
        )


def collect_properties(metas: Sequence[MetaTag]) -> MetaProperties:
    """Sort meta elements by family."""
    properties = MetaProperties()
    every = properties.first_values
    for name, content in metas:
        if not (name and content):
            continue
        if name in every:
            properties.repeated.append((name, content))
        else:
            every[name] = content
            if name.startswith(_OPEN_GRAPH_PREFIXES):
                properties.open_graph[name] = content
            elif name.startswith("twitter:"):
                properties.twitter[name] = content
            else:
                properties.plain[name] = content
    return properties


def bounded_maps(properties: MetaProperties) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Give Open Graph, Twitter and further properties as they travel."""
    return (
        _bounded_map(properties.open_graph),
        _bounded_map(properties.twitter),
        properties.other_properties(),
    )


def choose_title(html: HtmlExtract, properties: MetaProperties) -> tuple[str, str]:
    """Give the title and where it was found."""
    candidates = (
        (html.title, "title"),
        (properties.first_of("og:title"), "og:title"),
        (html.heading, "h1"),
    )
    for title, source in candidates:
        if title:
            return title[:MAX_TITLE_CHARS], source
    return "", ""


def choose_description(properties: MetaProperties) -> str:
    """Give the description, or what Open Graph has in its place."""
    return properties.first_of("description", "og:description", "twitter:description")[:MAX_DESCRIPTION_CHARS]


def choose_language(html: HtmlExtract, properties: MetaProperties, header: str) -> tuple[str, float]:
    """Give the language that is declared, and how far such a declaration can be trusted."""
    candidates = (
        (html.language, 0.9),
        (properties.first_of("content-language", "dc.language", "dcterms.language", "inlanguage"), 0.8),
        (properties.first_of("og:locale"), 0.7),
        (header.partition(",")[0], 0.6),
    )
    for declared, confidence in candidates:
        match = _LANGUAGE.fullmatch(declared.strip())
        if match and match[1].lower() not in _UNSPECIFIC_LANGUAGES:
            return to_bcp47(match[1]), confidence
    return "", 0.0


@lru_cache(maxsize=256)
def to_bcp47(tag: str) -> str:
    """Write a language tag as BCP 47 likes it: `en-GB`, `zh-Hant`."""
    first, *others = tag.replace("_", "-").split("-")
    written = [first.lower()]
    for part in others:
        if len(part) == 2:  # noqa: PLR2004  # a country
            written.append(part.upper())
        else:
            written.append(part.title() if len(part) == 4 and part.isalpha() else part.lower())  # noqa: PLR2004  # a script
    return "-".join(written)


def split_keywords(properties: MetaProperties) -> tuple[str, ...]:
    """Split the keywords."""
    if not (said := properties.first_of("keywords")):
        return ()
    words = (word.strip() for word in _BETWEEN_KEYWORDS.split(said))
    return tuple(dict.fromkeys(word[:MAX_NAME_CHARS] for word in words if word))[:MAX_KEYWORDS]


_BETWEEN_KEYWORDS: Final = re.compile("[,;\u3001\uff0c\uff1b\u060c]")
"""Commas, also those of Chinese, Japanese and Arabic."""


def find_base(url: str, html: HtmlExtract) -> str:
    """Decide what relative links are resolved against."""
    return resolve_url(html.base, url) or url


def find_canonical(tags: Sequence[LinkTag], base: str) -> str:
    """Give the first canonical URL that is one."""
    for tag in tags:
        if "canonical" not in tag.rel:
            continue  # as it stands, before it is looked for as a word: few have it
        if tag.href and "canonical" in tag.rel.split() and (found := resolve_url(tag.href, base)):
            return found
    return ""


def find_alternates(tags: Sequence[LinkTag], base: str) -> AlternateLinks:
    """Gather alternates and feeds, each once in each language that it is said to be for."""
    found: dict[tuple[str, str], LinkTag] = {}
    for tag in tags:
        if "alternate" not in tag.rel or not tag.href:
            continue
        if "alternate" not in (rel := tag.rel.split()) or "stylesheet" in rel:
            continue
        href = (
            _FEED_SCHEME.sub(_replace_feed_scheme, tag.href) if tag.href[:5].lower() == "feed:" else tag.href
        )
        if len(found) < MAX_ALTERNATES and (url := resolve_url(href, base)):
            found.setdefault((url, normalize_language(tag.language)), tag)
    return AlternateLinks(
        tuple(url for url, _ in found),
        tuple(language for _, language in found),
        tuple(tag.type[:MAX_NAME_CHARS] for tag in found.values()),
        tuple(
            dict.fromkeys(url for (url, _), tag in found.items() if tag.type and _is_feed_link(tag.type, url))
        ),
    )


_FEED_SCHEME: Final = re.compile(r"feed:(//)?", re.IGNORECASE)
"""What some pages write for readers of feeds: `feed://site.test/rss`, `feed:https://site.test/rss`."""


def _replace_feed_scheme(match: re.Match[str]) -> str:
    return "http://" if match[1] else ""


def _is_feed_link(kind: str, url: str) -> bool:
    kind = kind.partition(";")[0].rstrip()
    return kind in _FEED_TYPES or (kind in _AMBIGUOUS_FEED_TYPES and looks_like_feed_url(url))


_AMBIGUOUS_FEED_TYPES: Final = frozenset(
    {"text/xml", "application/xml", "application/json", "text/rss+xml", "application/rss", "application/atom"}
)
"""What feeds are said to be as well, and much else is: there the address has to be called like one."""


def normalize_language(hreflang: str) -> str:
    """Write an hreflang; `x-default` stays."""
    match = _LANGUAGE.fullmatch(hreflang)
    return to_bcp47(match[1]) if match else hreflang.lower()[:MAX_NAME_CHARS]


def find_refresh(metas: Sequence[MetaTag], base: str) -> tuple[str, float]:
    """Give where a meta refresh leads and after how many seconds; empty and -1 without one."""
    for meta in metas:
        if meta.name == "refresh" and (match := _REFRESH.match(meta.content)):
            seconds = min(float(f"0{match['seconds']}"), MAX_REFRESH_SECONDS)
            target = (match["url"] or "").strip()
            if match["quote"]:
                target = target.partition(match["quote"])[0]
            return resolve_url(target, base) if target else "", seconds
    return "", -1.0


def resolve_url(href: str, base: str) -> str:
    """Give the URL as found; empty for what is none that could be fetched."""
    if not href:
        return ""
    found = to_wire_url(href, base)
    return "" if isinstance(found, RefusedUrl) else found


def _bounded_map(entries: dict[str, str]) -> dict[str, str]:
    return {
        name[:MAX_NAME_CHARS]: value[:MAX_VALUE_CHARS] for name, value in list(entries.items())[:MAX_ENTRIES]
    }
