"""What does a feed list? RSS 0.9 to 2.0, Atom, RDF, CDF, and what was meant to be one of these.

Takes the tokens of XML, however broken. A field counts where it stands directly in an entry or in the feed,
so that the title of a source, a picture or a medium is nobody else's. Titles are plain text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from strider.parser.core.content.plain_text import strip_markup
from strider.parser.core.html.metadata import normalize_language, resolve_url

from .feed_entry import FeedPart, choose_link, entry_details, entry_of, published_time
from .feed_timestamps import format_iso_utc, parse_timestamp
from .models import MAX_DETAIL_BYTES, MAX_ENTRIES, MAX_TEXT_CHARS, NO_DETAILS, ListDocument, ListEntry
from .xml_tokenizer import END, START, TEXT, attributes, tokenize

_ENTRY_TAGS: Final = frozenset({"item", "entry", "atom:entry"})
_FEED_TAGS: Final = frozenset({"channel", "feed", "atom:feed"})
_TRANSPARENT_TAGS: Final = frozenset({"rdf:rdf", "rss", "items", "media:group"})
_FIELDS: Final = {
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
_DETAILS: Final = frozenset({"summary", "summary_other", "content", "author", "comments"})
"""Of an entry, what is told in its details alone."""

_TITLE_TERMINATORS: Final = frozenset(
    {"link", "guid", "id", "pubdate", "published", "updated", "description"}
)
"""Fields that stand in no title: one that reaches them has lost its end."""

_MAILED: Final = re.compile(r"\S+@\S+ \((.+)\)")
"""An author as RSS has it: address, and name in brackets."""

MAX_LINKS_PER_ENTRY: Final = 20
MAX_CAPTURE_CHARS: Final = 20_000
"""Of a field, with its markup."""


@dataclass(slots=True)
class _FieldCapture:
    """A field while it is read."""

    name: str
    tag: str
    type: str
    depth: int = 1
    silent: str = ""
    """The element within it whose text nobody sees."""
    texts: list[str] = field(default_factory=list)
    chars: int = 0


def parse_feed(text: str, url: str, *, with_details: bool) -> ListDocument:
    """Read a feed; `url` is what its links are resolved against."""
    reader = _Reader(url, room_for_details=MAX_DETAIL_BYTES if with_details else 0)
    for kind, name, value in tokenize(text):
        if kind == TEXT:
            reader.hear(value)
        elif kind == START:
            reader.begin(name, value)
        elif kind == END:
            reader.end(name)
    return reader.listing()


class _Reader:
    """Follows the tokens of one feed."""

    def __init__(self, url: str, *, room_for_details: int) -> None:
        self._detail_budget = room_for_details
        self._feed = FeedPart(url)
        self._part = self._feed
        self._entries: list[ListEntry] = []
        self._found = 0
        self._capture: _FieldCapture | None = None
        self._beside = ""
        """The outermost open element that is no place for fields."""
        self._ignored_depth = 0
        self._bases = [url]
        self._languages = [""]

    def hear(self, text: str) -> None:
        capture = self._capture
        if capture is not None and not capture.silent and capture.chars < MAX_CAPTURE_CHARS:
            capture.texts.append(text[:MAX_CAPTURE_CHARS])
            capture.chars += len(text)

    def begin(self, name: str, raw: str) -> None:
        if self._capture is not None and self._capture.name == "title" and name in _TITLE_TERMINATORS:
            self._close()
        if name in _ENTRY_TAGS:
            self._close()
            self._start_entry(raw)
        elif self._capture is not None:
            _start_nested(self._capture, name)
        elif name in _FEED_TAGS and self._part is self._feed:
            self._beside = ""
            self._place(self._feed, raw)
        elif self._beside:
            self._ignored_depth += name == self._beside
        elif (wanted := _FIELDS.get(name)) is not None:
            self._start_field(name, wanted, raw)
        elif name not in _TRANSPARENT_TAGS:
            self._beside, self._ignored_depth = name, 1
        elif raw and name in {"rss", "rdf:rdf"}:
            self._place(self._feed, raw)

    def end(self, name: str) -> None:
        if name in _ENTRY_TAGS or name in _FEED_TAGS:
            self._close()
            if name in _ENTRY_TAGS:
                self._end_entry()
        elif self._capture is not None:
            if _end_nested(self._capture, name):
                self._close()
        elif name == self._beside:
            self._ignored_depth -= 1
            if not self._ignored_depth:
                self._beside = ""

    def listing(self) -> ListDocument:
        """Say what the feed was."""
        self._close()
        self._end_entry()
        said = self._feed.fields
        own = choose_link(self._feed)
        about = {
            "title": said.get("title", ""),
            "url": own,
            "published_at": format_iso_utc(published_time(self._feed)),
            "updated_at": format_iso_utc(self._feed.times.get("updated")),
            "author": said.get("author", ""),
            "links": self._feed.links,
        }
        return ListDocument(
            title=said.get("title") or said.get("title_other", ""),
            description=said.get("summary") or said.get("summary_other", ""),
            language=normalize_language(self._feed.language or said.get("language", "")),
            url=own,
            about={key: value for key, value in about.items() if value},
            entries=self._entries,
            found=self._found,
        )

    def _start_entry(self, raw: str) -> None:
        self._end_entry()
        self._beside = ""
        self._part = FeedPart(self._feed.base, self._feed.language)
        self._place(self._part, raw)

    def _place(self, part: FeedPart, raw: str) -> None:
        """Take what the start of an entry or of the feed says itself."""
        if "=" not in raw:
            return
        said = attributes(raw)
        part.base = resolve_url(said.get("xml:base", ""), part.base) or part.base
        part.language = said.get("xml:lang", part.language)
        if href := said.get("href"):  # CDF
            self._link(part, {"href": href})
        if lastmod := said.get("lastmod"):
            part.times.setdefault("updated", parse_timestamp(lastmod))
        if about := said.get("rdf:about"):
            part.fields.setdefault("about", about)

    def _start_field(self, name: str, wanted: str, raw: str) -> None:
        said = attributes(raw) if "=" in raw else {}
        if wanted in {"link", "enclosure"} and (href := said.get("href") or said.get("url")):
            base = resolve_url(said.get("xml:base", ""), self._part.base) or self._part.base
            rel = said.get("rel") or ("enclosure" if wanted == "enclosure" else "alternate")
            self._link(self._part, {**said, "href": href, "rel": rel}, base)
        if wanted == "id" and said.get("ispermalink", "true").lower() == "false":
            self._part.is_lasting = False
        if name in {"id", "atom:id"}:
            self._part.is_lasting = False
        kind = "base64" if said.get("mode") == "base64" else said.get("type", "").lower()
        is_unheard = wanted in _DETAILS and self._detail_budget <= 0 and self._part is not self._feed
        self._capture = _FieldCapture(wanted, name, kind, chars=MAX_CAPTURE_CHARS if is_unheard else 0)

    def _close(self) -> None:
        """Keep the field that is being read."""
        capture, self._capture = self._capture, None
        if capture is None:
            return
        text = "".join(capture.texts).strip()
        if not text:
            return
        if capture.name == "link":
            self._link(self._part, {"href": text, "rel": "alternate"})
        else:
            if capture.name in {"title", "title_other", "summary", "summary_other", "author", "content"}:
                text = strip_markup(text, capture.type)
            if capture.name == "author" and (named := _MAILED.fullmatch(text)):
                text = named[1]
            self._keep(capture.name, text, capture.tag)

    def _keep(self, name: str, text: str, tag: str) -> None:
        part = self._part
        if name in {"published", "updated", "created"}:
            # Of one element that is repeated the last counts; of several that mean the same the first.
            is_again = part.time_tags.setdefault(name, tag) == tag
            moment = parse_timestamp(text)
            if moment is not None and (is_again or part.times.get(name) is None):
                part.times[name] = moment
        elif text:
            part.fields.setdefault(name, text[:MAX_TEXT_CHARS])

    def _link(self, part: FeedPart, said: Mapping[str, str], base: str = "") -> None:
        if len(part.links) >= MAX_LINKS_PER_ENTRY:
            return
        href = said["href"].strip().replace("&amp;", "&")  # written as an entity twice: no address has one
        url = resolve_url(href, base or part.base)
        known = ("rel", "type", "hreflang", "title", "length")
        part.resolved_urls.add(url)
        row = {"href": url or href, **{key: said[key] for key in known if said.get(key)}}
        if row not in part.links:
            part.links.append(row)

    def _end_entry(self) -> None:
        part = self._part
        if part is self._feed:
            return
        self._part = self._feed
        self._beside = ""
        self._found += 1
        if len(self._entries) < MAX_ENTRIES:
            details = NO_DETAILS
            if self._detail_budget > 0:
                details = entry_details(part)
                self._detail_budget -= len(str(details))
            self._entries.append(entry_of(part, details))


def _start_nested(capture: _FieldCapture, name: str) -> None:
    """Markup within a field: what stands between its tags is text as it is."""
    local = name.rpartition(":")[2]
    if name == capture.tag:
        capture.depth += 1
    elif not capture.silent and (local in _SILENT or (capture.name == "author" and local in _PERSON_TAGS)):
        capture.silent = name
    elif local in _PARTING:
        capture.texts.append(" ")
    capture.type = "text"


_SILENT: Final = frozenset({"script", "style"})
_PERSON_TAGS: Final = frozenset({"email", "uri", "url", "homepage"})
"""What is said of an author beside the name."""

_PARTING: Final = frozenset({"p", "div", "br", "li", "h1", "h2", "h3", "h4", "td", "tr", "blockquote"})


def _end_nested(capture: _FieldCapture, name: str) -> bool:
    """Say whether the field ends."""
    if name == capture.silent:
        capture.silent = ""
    elif name == capture.tag:
        capture.depth -= 1
    return not capture.depth
