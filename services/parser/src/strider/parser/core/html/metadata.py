"""Choose title, description, canonical, alternates, feeds, language and refresh of a page.

Input is what the head of the document contains. Values are truncated, maps and lists bounded, since a page
may declare any amount.
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
MAX_MAP_ENTRIES: Final = 64
"""Maximum entries of each map."""
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
"""Without extensions (`-u-ca-gregory`), which do not affect the language."""
_UNSPECIFIC_LANGUAGES: Final = frozenset({"und", "mul", "zxx", "mis"})
"""Tags for no language, several languages or an unknown one."""
_NAMES_WITH_OWN_FIELD: Final = frozenset(
    {"", "description", "keywords", "author", "refresh", "robots", "viewport", "content-type", "charset"}
)
"""Names that are not repeated in `meta`: they have fields of their own, or address the browser."""


_OPEN_GRAPH_PREFIXES: Final = ("og:", "article:", "product:", "book:", "profile:", "video:", "music:")


@fast_dataclass(frozen=True, slots=True)
class AlternateLinks:
    """Alternate versions of a page, as parallel tuples."""

    urls: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()


@fast_dataclass(frozen=True, slots=True)
class MetaProperties:
    """Meta elements by name; the first value of a name counts."""

    plain: dict[str, str] = field(default_factory=dict)
    open_graph: dict[str, str] = field(default_factory=dict)
    twitter: dict[str, str] = field(default_factory=dict)
    first_values: dict[str, str] = field(default_factory=dict)
    """The values of all families; a name belongs to one family only."""
    repeated: list[tuple[str, str]] = field(default_factory=list)
    """Further values of names that occur more than once."""

    def all_values(self, name: str) -> list[str]:
        """Return all values of a name in document order."""
        first = self.first_values.get(name)
        return [first, *(value for other, value in self.repeated if other == name)] if first else []

    def open_graph_with_lists(self) -> dict[str, str | list[str]]:
        """Return Open Graph properties, with a list for names that occur more than once."""
        found: dict[str, str | list[str]] = {**self.open_graph}
        for name in dict.fromkeys(name for name, _ in self.repeated):
            if name in found:
                found[name] = self.all_values(name)
        return found

    def first_of(self, *names: str) -> str:
        """Return the first non-empty value of these names."""
        for name in names:
            if value := self.first_values.get(name):
                return value
        return ""

    def other_properties(self) -> dict[str, str]:
        """Return plain properties without a field of their own, truncated and bounded."""
        return _bounded_map(
            {name: value for name, value in self.plain.items() if name not in _NAMES_WITH_OWN_FIELD}
        )


def collect_properties(metas: Sequence[MetaTag]) -> MetaProperties:
    """Group meta elements by family."""
    properties = MetaProperties()
    first_values = properties.first_values
    for name, content in metas:
        if not (name and content):
            continue
        if name in first_values:
            properties.repeated.append((name, content))
        else:
            first_values[name] = content
            if name.startswith(_OPEN_GRAPH_PREFIXES):
                properties.open_graph[name] = content
            elif name.startswith("twitter:"):
                properties.twitter[name] = content
            else:
                properties.plain[name] = content
    return properties


def bounded_maps(properties: MetaProperties) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return Open Graph, Twitter and other properties, truncated and bounded for the event."""
    return (
        _bounded_map(properties.open_graph),
        _bounded_map(properties.twitter),
        properties.other_properties(),
    )


def choose_title(html: HtmlExtract, properties: MetaProperties) -> tuple[str, str]:
    """Return the title and its source."""
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
    """Return the description, or the one of Open Graph or Twitter."""
    return properties.first_of("description", "og:description", "twitter:description")[:MAX_DESCRIPTION_CHARS]


def choose_language(html: HtmlExtract, properties: MetaProperties, header: str) -> tuple[str, float]:
    """Return the declared language and the confidence in this kind of declaration."""
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
    """Return a language tag in BCP 47 form: `en-GB`, `zh-Hant`."""
    first, *others = tag.replace("_", "-").split("-")
    written = [first.lower()]
    for part in others:
        if len(part) == 2:  # noqa: PLR2004  # a country
            written.append(part.upper())
        else:
            written.append(part.title() if len(part) == 4 and part.isalpha() else part.lower())  # noqa: PLR2004  # a script
    return "-".join(written)


_BETWEEN_KEYWORDS: Final = re.compile("[,;\u3001\uff0c\uff1b\u060c]")
"""Commas, including those of Chinese, Japanese and Arabic."""


def split_keywords(properties: MetaProperties) -> tuple[str, ...]:
    """Return the keywords as a tuple without duplicates."""
    if not (keywords := properties.first_of("keywords")):
        return ()
    words = (word.strip() for word in _BETWEEN_KEYWORDS.split(keywords))
    return tuple(dict.fromkeys(word[:MAX_NAME_CHARS] for word in words if word))[:MAX_KEYWORDS]


def find_base(url: str, html: HtmlExtract) -> str:
    """Return the URL that relative links resolve against."""
    return resolve_url(html.base, url) or url


def find_canonical(tags: Sequence[LinkTag], base: str) -> str:
    """Return the first valid canonical URL."""
    for tag in tags:
        if "canonical" not in tag.rel:
            continue  # a cheap test before the split: few links have it
        if tag.href and "canonical" in tag.rel.split() and (found := resolve_url(tag.href, base)):
            return found
    return ""


_FEED_SCHEME: Final = re.compile(r"feed:(//)?", re.IGNORECASE)
"""Scheme that some pages use for feed readers: `feed://site.test/rss`, `feed:https://site.test/rss`."""


def find_alternates(tags: Sequence[LinkTag], base: str) -> AlternateLinks:
    """Return alternates and feeds, each URL once per declared language."""
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


def _replace_feed_scheme(match: re.Match[str]) -> str:
    return "http://" if match[1] else ""


_AMBIGUOUS_FEED_TYPES: Final = frozenset(
    {"text/xml", "application/xml", "application/json", "text/rss+xml", "application/rss", "application/atom"}
)
"""Media types of feeds and much else; accepted only if the URL looks like a feed."""


def _is_feed_link(kind: str, url: str) -> bool:
    kind = kind.partition(";")[0].rstrip()
    return kind in _FEED_TYPES or (kind in _AMBIGUOUS_FEED_TYPES and looks_like_feed_url(url))


def normalize_language(hreflang: str) -> str:
    """Normalize an hreflang value; `x-default` stays."""
    match = _LANGUAGE.fullmatch(hreflang)
    return to_bcp47(match[1]) if match else hreflang.lower()[:MAX_NAME_CHARS]


def find_refresh(metas: Sequence[MetaTag], base: str) -> tuple[str, float]:
    """Return target and delay in seconds of a meta refresh; empty and -1 without one."""
    for meta in metas:
        if meta.name == "refresh" and (match := _REFRESH.match(meta.content)):
            seconds = min(float(f"0{match['seconds']}"), MAX_REFRESH_SECONDS)
            target = (match["url"] or "").strip()
            if match["quote"]:
                target = target.partition(match["quote"])[0]
            return resolve_url(target, base) if target else "", seconds
    return "", -1.0


def resolve_url(href: str, base: str) -> str:
    """Return the absolute URL; empty if it is not one that could be fetched."""
    if not href:
        return ""
    found = to_wire_url(href, base)
    return "" if isinstance(found, RefusedUrl) else found


def _bounded_map(entries: dict[str, str]) -> dict[str, str]:
    return {
        name[:MAX_NAME_CHARS]: value[:MAX_VALUE_CHARS]
        for name, value in list(entries.items())[:MAX_MAP_ENTRIES]
    }
