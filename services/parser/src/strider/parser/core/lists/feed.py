"""Parse feeds: RSS 0.9 to 2.0, Atom, RDF, CDF and their broken variants.

Works on XML tokens, however broken the document. A field counts only directly within an entry or the feed, so
that the title of a source, an image or a medium is not mistaken for the entry's. Titles are plain text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from strider.parser.core.content.plain_text import strip_markup
from strider.parser.core.html.metadata import normalize_language, resolve_url

from .entry_fields import FeedPart, build_entry, choose_link, entry_details, published_time
from .models import MAX_DETAIL_BYTES, MAX_ENTRIES, MAX_TEXT_CHARS, NO_DETAILS, ListDocument, ListEntry
from .timestamps import format_iso_utc, parse_timestamp
from .xml_tokenizer import END, START, TEXT, parse_attributes, tokenize

_ENTRY_TAGS: Final = frozenset({"item", "entry", "atom:entry"})
_FEED_TAGS: Final = frozenset({"channel", "feed", "atom:feed"})
_TRANSPARENT_TAGS: Final = frozenset({"rdf:rdf", "rss", "items", "media:group"})
_FIELD_OF_TAG: Final = {
    "title": "title",
    "atom:title": "title",
    "dc:title": "title_other",
    "media:title": "title_other",
    "link": "link",
    "atom:link": "link",
    "url": "link",
    "guid": "id",
    "id": "id",
    "atom:id": "id",
    "pubdate": "published",
    "published": "published",
    "issued": "published",
    "dcterms:issued": "published",
    "atom:published": "published",
    "dc:date": "updated",
    "date": "updated",
    "updated": "updated",
    "atom:updated": "updated",
    "modified": "updated",
    "dcterms:modified": "updated",
    "lastbuilddate": "updated",
    "created": "created",
    "dcterms:created": "created",
    "description": "summary",
    "summary": "summary",
    "abstract": "summary",
    "subtitle": "summary",
    "tagline": "summary",
    "dc:description": "summary",
    "itunes:summary": "summary_other",
    "content": "content",
    "content:encoded": "content",
    "dc:creator": "author",
    "author": "author",
    "language": "language",
    "dc:language": "language",
    "enclosure": "enclosure",
    "comments": "comments",
    "feedburner:origlink": "origin",
}
_DETAIL_FIELDS: Final = frozenset({"summary", "summary_other", "content", "author", "comments"})
"""Fields of an entry that are used in its details only."""

_TITLE_TERMINATORS: Final = frozenset(
    {"link", "guid", "id", "pubdate", "published", "updated", "description"}
)
"""Tags that no title contains: where they start, a title has lost its end tag."""

_RSS_AUTHOR: Final = re.compile(r"\S+@\S+ \((.+)\)")
"""The form of an author in RSS: address, and name in parentheses."""

MAX_LINKS_PER_ENTRY: Final = 20
MAX_CAPTURE_CHARS: Final = 20_000
"""Maximum length of a field with its markup."""


@dataclass(slots=True)
class _FieldCapture:
    """A field while it is being read."""

    name: str
    tag: str
    type: str
    depth: int = 1
    skipped_tag: str = ""
    """The nested element whose text is invisible."""
    texts: list[str] = field(default_factory=list)
    chars: int = 0


def parse_feed(text: str, url: str, *, with_details: bool) -> ListDocument:
    """Parse a feed; its links are resolved against `url`."""
    reader = _FeedReader(url, detail_budget=MAX_DETAIL_BYTES if with_details else 0)
    for kind, name, value in tokenize(text):
        if kind == TEXT:
            reader.add_text(value)
        elif kind == START:
            reader.start_element(name, value)
        elif kind == END:
            reader.end_element(name)
    return reader.result()


class _FeedReader:
    """Builds a feed from its tokens."""

    def __init__(self, url: str, *, detail_budget: int) -> None:
        self._detail_budget = detail_budget
        self._feed = FeedPart(url)
        self._part = self._feed
        self._entries: list[ListEntry] = []
        self._found = 0
        self._capture: _FieldCapture | None = None
        self._ignored_tag = ""
        """The outermost open element in which fields are ignored."""
        self._ignored_depth = 0
        self._bases = [url]
        self._languages = [""]

    def add_text(self, text: str) -> None:
        capture = self._capture
        if capture is not None and not capture.skipped_tag and capture.chars < MAX_CAPTURE_CHARS:
            capture.texts.append(text[:MAX_CAPTURE_CHARS])
            capture.chars += len(text)

    def start_element(self, name: str, raw: str) -> None:
        if self._capture is not None and self._capture.name == "title" and name in _TITLE_TERMINATORS:
            self._end_field()
        if name in _ENTRY_TAGS:
            self._end_field()
            self._start_entry(raw)
        elif self._capture is not None:
            _start_nested(self._capture, name)
        elif name in _FEED_TAGS and self._part is self._feed:
            self._ignored_tag = ""
            self._apply_attributes(self._feed, raw)
        elif self._ignored_tag:
            self._ignored_depth += name == self._ignored_tag
        elif (field := _FIELD_OF_TAG.get(name)) is not None:
            self._start_field(name, field, raw)
        elif name not in _TRANSPARENT_TAGS:
            self._ignored_tag, self._ignored_depth = name, 1
        elif raw and name in {"rss", "rdf:rdf"}:
            self._apply_attributes(self._feed, raw)

    def end_element(self, name: str) -> None:
        if name in _ENTRY_TAGS or name in _FEED_TAGS:
            self._end_field()
            if name in _ENTRY_TAGS:
                self._end_entry()
        elif self._capture is not None:
            if _end_nested(self._capture, name):
                self._end_field()
        elif name == self._ignored_tag:
            self._ignored_depth -= 1
            if not self._ignored_depth:
                self._ignored_tag = ""

    def result(self) -> ListDocument:
        """Return the parsed feed."""
        self._end_field()
        self._end_entry()
        fields = self._feed.fields
        home_url = choose_link(self._feed)
        about = {
            "title": fields.get("title", ""),
            "url": home_url,
            "published_at": format_iso_utc(published_time(self._feed)),
            "updated_at": format_iso_utc(self._feed.times.get("updated")),
            "author": fields.get("author", ""),
            "links": self._feed.links,
        }
        return ListDocument(
            title=fields.get("title") or fields.get("title_other", ""),
            description=fields.get("summary") or fields.get("summary_other", ""),
            language=normalize_language(self._feed.language or fields.get("language", "")),
            url=home_url,
            about={key: value for key, value in about.items() if value},
            entries=self._entries,
            found=self._found,
        )

    def _start_entry(self, raw: str) -> None:
        self._end_entry()
        self._ignored_tag = ""
        self._part = FeedPart(self._feed.base, self._feed.language)
        self._apply_attributes(self._part, raw)

    def _apply_attributes(self, part: FeedPart, raw: str) -> None:
        """Apply the attributes of the start tag of an entry or of the feed."""
        if "=" not in raw:
            return
        values = parse_attributes(raw)
        part.base = resolve_url(values.get("xml:base", ""), part.base) or part.base
        part.language = values.get("xml:lang", part.language)
        if href := values.get("href"):  # CDF
            self._add_link(part, {"href": href})
        if lastmod := values.get("lastmod"):
            part.times.setdefault("updated", parse_timestamp(lastmod))
        if about := values.get("rdf:about"):
            part.fields.setdefault("about", about)

    def _start_field(self, name: str, field: str, raw: str) -> None:
        values = parse_attributes(raw) if "=" in raw else {}
        if field in {"link", "enclosure"} and (href := values.get("href") or values.get("url")):
            base = resolve_url(values.get("xml:base", ""), self._part.base) or self._part.base
            rel = values.get("rel") or ("enclosure" if field == "enclosure" else "alternate")
            self._add_link(self._part, {**values, "href": href, "rel": rel}, base)
        if field == "id" and values.get("ispermalink", "true").lower() == "false":
            self._part.is_id_permalink = False
        if name in {"id", "atom:id"}:
            self._part.is_id_permalink = False
        kind = "base64" if values.get("mode") == "base64" else values.get("type", "").lower()
        is_skipped = field in _DETAIL_FIELDS and self._detail_budget <= 0 and self._part is not self._feed
        self._capture = _FieldCapture(field, name, kind, chars=MAX_CAPTURE_CHARS if is_skipped else 0)

    def _end_field(self) -> None:
        """Store the field that is being read."""
        capture, self._capture = self._capture, None
        if capture is None:
            return
        text = "".join(capture.texts).strip()
        if not text:
            return
        if capture.name == "link":
            self._add_link(self._part, {"href": text, "rel": "alternate"})
        else:
            if capture.name in {"title", "title_other", "summary", "summary_other", "author", "content"}:
                text = strip_markup(text, capture.type)
            if capture.name == "author" and (named := _RSS_AUTHOR.fullmatch(text)):
                text = named[1]
            self._store_field(capture.name, text, capture.tag)

    def _store_field(self, name: str, text: str, tag: str) -> None:
        part = self._part
        if name in {"published", "updated", "created"}:
            # Of a repeated element the last one counts; of different elements for one field the first.
            is_again = part.time_tags.setdefault(name, tag) == tag
            moment = parse_timestamp(text)
            if moment is not None and (is_again or part.times.get(name) is None):
                part.times[name] = moment
        elif text:
            part.fields.setdefault(name, text[:MAX_TEXT_CHARS])

    def _add_link(self, part: FeedPart, values: Mapping[str, str], base: str = "") -> None:
        if len(part.links) >= MAX_LINKS_PER_ENTRY:
            return
        href = (
            values["href"].strip().replace("&amp;", "&")
        )  # Undo double escaping: no URL contains an entity.
        url = resolve_url(href, base or part.base)
        kept_keys = ("rel", "type", "hreflang", "title", "length")
        part.resolved_urls.add(url)
        row = {"href": url or href, **{key: values[key] for key in kept_keys if values.get(key)}}
        if row not in part.links:
            part.links.append(row)

    def _end_entry(self) -> None:
        part = self._part
        if part is self._feed:
            return
        self._part = self._feed
        self._ignored_tag = ""
        self._found += 1
        if len(self._entries) < MAX_ENTRIES:
            details = NO_DETAILS
            if self._detail_budget > 0:
                details = entry_details(part)
                self._detail_budget -= len(str(details))
            self._entries.append(build_entry(part, details))


_INVISIBLE_TAGS: Final = frozenset({"script", "style"})


_PERSON_TAGS: Final = frozenset({"email", "uri", "url", "homepage"})
"""Details of an author besides the name."""


_BLOCK_TAGS: Final = frozenset({"p", "div", "br", "li", "h1", "h2", "h3", "h4", "td", "tr", "blockquote"})


def _start_nested(capture: _FieldCapture, name: str) -> None:
    """Handle a tag within a field: its text is then plain text."""
    local = name.rpartition(":")[2]
    if name == capture.tag:
        capture.depth += 1
    elif not capture.skipped_tag and (
        local in _INVISIBLE_TAGS or (capture.name == "author" and local in _PERSON_TAGS)
    ):
        capture.skipped_tag = name
    elif local in _BLOCK_TAGS:
        capture.texts.append(" ")
    capture.type = "text"


def _end_nested(capture: _FieldCapture, name: str) -> bool:
    """Handle an end tag within a field; return whether the field ends."""
    if name == capture.skipped_tag:
        capture.skipped_tag = ""
    elif name == capture.tag:
        capture.depth -= 1
    return not capture.depth
