"""Parse sitemaps: URL sets, indexes, their extensions, and plain URL lists.

Works on XML tokens in any namespace. Only the URL and a few fields of each entry are kept, so memory grows
with the number of entries rather than with the document, which may arrive in chunks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from strider.parser.core.html.metadata import normalize_language
from strider.urls import resolve_links

from .models import MAX_DETAIL_BYTES, MAX_ENTRIES, NO_DETAILS, ListDocument, ListEntry
from .sitemap_splitter import SitemapPiece, split_lines, split_sitemap
from .timestamps import parse_ms, to_iso_utc
from .xml_tokenizer import END, START, TEXT, XmlNames, decode_references, parse_attributes, tokenize

_CHANGE_FREQUENCIES: Final = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
_ENTRY_TAGS: Final = frozenset({"url", "sitemap"})
_CORE_TAGS: Final = frozenset({"loc", "lastmod", "changefreq", "priority"})
_EXTENSION_TAGS: Final = {
    "news:title": ("news", "title"),
    "news:publication_date": ("news", "published_at"),
    "news:name": ("news", "publication"),
    "news:language": ("news", "language"),
    "news:keywords": ("news", "keywords"),
    "image:loc": ("images", "url"),
    "image:title": ("images", "title"),
    "image:caption": ("images", "caption"),
    "video:content_loc": ("videos", "url"),
    "video:player_loc": ("videos", "player"),
    "video:thumbnail_loc": ("videos", "thumbnail"),
    "video:title": ("videos", "title"),
    "video:description": ("videos", "description"),
    "video:duration": ("videos", "duration"),
    "video:publication_date": ("videos", "published_at"),
}
_EXTENSION_GROUPS: Final = {"image:image": "images", "video:video": "videos", "news:news": "news"}
_URL_LINE: Final = re.compile(r"https?://\S+", re.IGNORECASE)
MAX_FIELD_CHARS: Final = 2_048
MAX_DETAILS_PER_ENTRY: Final = 50
"""Images, videos and languages of one entry."""


def parse_sitemap(texts: Iterable[str], url: str, *, with_details: bool) -> ListDocument:
    """Parse a sitemap or an index from chunks of text; its URLs are resolved against `url`.

    Each piece of whole entries is read in the fastest way that is valid for it; all ways return the same
    entries.
    """
    collector = _EntryCollector(url)
    rows = _EntryTokenReader(with_details=with_details)
    for piece in split_sitemap(texts):
        plain_rows = _match_plain_entries(piece)
        if plain_rows is None and not with_details:
            plain_rows = _match_extended_entries(piece)
        if plain_rows is None:
            rows.read(piece.text)
            if piece.is_last:
                rows.close()  # for a missing end tag
            collector.add_tokenized(rows)
        else:
            if piece.is_first:
                rows.read(piece.text[: piece.text.find("<url>")])  # namespace declarations
            rows.close()  # as the next start tag would
            collector.add_tokenized(rows)
            collector.add_plain(plain_rows)
    return ListDocument(
        entries=collector.entries, found=collector.found, is_index=2 * rows.indexes > collector.found
    )


_PLAIN_ENTRY: Final = re.compile(
    r"<url>\s*<loc>\s*([^<>\s]+)\s*</loc>\s*(?:<lastmod>([^<>&]*)</lastmod>\s*)?"
    r"(?:<changefreq>([^<>&]*)</changefreq>\s*)?(?:<priority>([^<>&]*)</priority>\s*)?</url>\s*"
)
"""An entry in the order of the protocol, with core fields only."""

_PlainRow = tuple[str, str | None, str | None, str | None]


def _match_plain_entries(piece: SitemapPiece) -> list[_PlainRow] | None:
    """Match a piece of plain entries, as most sitemaps have; None if it has any others."""
    text = piece.text
    at = text.find("<url>")
    if at < 0 or not _is_valid_prefix(text[:at], piece):
        return None
    rows: list[_PlainRow] = []
    for match in _PLAIN_ENTRY.finditer(text, at):
        if match.start() != at:
            return None
        at = match.end()
        rows.append((match[1], match[2], match[3], match[4]))
    return rows if _is_valid_suffix(text[at:], piece) else None


def _is_valid_prefix(text: str, piece: SitemapPiece) -> bool:
    return piece.is_first or not text.strip()


def _is_valid_suffix(text: str, piece: SitemapPiece) -> bool:
    return text.strip() == ("</urlset>" if piece.is_last else "")


_LOC: Final = re.compile(r"<loc>\s*([^<>\s]+)\s*</loc>")


def _match_extended_entries(piece: SitemapPiece) -> list[_PlainRow] | None:
    """Match the core fields of entries with extensions, which are skipped; None if that is unsafe.

    Entries with images and languages have a kilobyte each, of which a tenth is needed.
    """
    text = piece.text
    at = text.find("<url>")
    if at < 0 or not _is_valid_prefix(text[:at], piece) or "<!" in text[at:]:
        return None
    rows: list[_PlainRow] = []
    while at >= 0:
        end = text.find("</url>", at)
        entry = text[at + len("<url>") : end]
        loc = _LOC.search(entry)
        if end < 0 or loc is None or "<url>" in entry:
            return None
        rows.append(
            (
                loc[1],
                _tag_text(entry, "lastmod"),
                _tag_text(entry, "changefreq"),
                _tag_text(entry, "priority"),
            )
        )
        after = end + len("</url>")
        at = text.find("<url>", after)
        if text[after:at].strip() if at >= 0 else not _is_valid_suffix(text[after:], piece):
            return None
    return rows


def _tag_text(entry: str, name: str) -> str | None:
    start = entry.find(f"<{name}>")
    if start < 0:
        return None
    return entry[start + len(name) + 2 : entry.find("<", start + 1)]


def _unescape_twice(text: str) -> str:
    """Undo double escaping: no URL contains an entity."""
    return text.replace("&amp;", "&") if "&amp;" in text else text


class _EntryCollector:
    """Collects entries up to the limit."""

    def __init__(self, url: str) -> None:
        self.entries: list[ListEntry] = []
        self.found = 0
        self._url = url
        self._detail_budget = MAX_DETAIL_BYTES

    def add_plain(self, rows: list[_PlainRow]) -> None:
        """Add matched entries."""
        self.found += len(rows)
        kept = rows[: MAX_ENTRIES - len(self.entries)]
        locs = [
            _unescape_twice(decode_references(row[0]))[:MAX_FIELD_CHARS]
            if "&" in row[0]
            else row[0][:MAX_FIELD_CHARS]
            for row in kept
        ]
        resolved = resolve_links(self._url, locs, allow_private=None).urls
        self.entries += [
            ListEntry(
                url=there,
                lastmod_ms=parse_ms(lastmod.strip()) if lastmod else -1,
                changefreq=_parse_frequency(frequency.strip()) if frequency else "",
                priority=_parse_priority(priority.strip()) if priority else -1.0,
                details=NO_DETAILS,
            )
            for there, (_, lastmod, frequency, priority) in zip(resolved, kept, strict=True)
        ]

    def add_tokenized(self, rows: _EntryTokenReader) -> None:
        """Add entries that were read by tokens."""
        if not (ended := rows.take_completed()):
            return
        self.found += len(ended)
        kept = ended[: MAX_ENTRIES - len(self.entries)]
        resolved = resolve_links(
            self._url, [_unescape_twice(row["loc"]) for row in kept], allow_private=None
        ).urls
        for row, there in zip(kept, resolved, strict=True):
            entry = _build_entry(row, there)
            self._detail_budget -= len(str(entry.details)) if entry.details else 0
            # No details are kept beyond the size that fits into an event.
            has_room = self._detail_budget >= 0
            self.entries.append(entry if has_room else replace(entry, details=NO_DETAILS))


def _parse_frequency(text: str) -> str:
    lower = text.lower()
    return lower if lower in _CHANGE_FREQUENCIES else ""


def parse_url_list(texts: Iterable[str], url: str) -> ListDocument:
    """Parse a list of URLs, one per line; other lines are skipped."""
    found, entries = 0, list[ListEntry]()
    for lines in split_lines(texts):
        urls = [line for line in map(str.strip, lines) if _URL_LINE.fullmatch(line)]
        found += len(urls)
        resolved = resolve_links(url, urls[: MAX_ENTRIES - len(entries)], allow_private=None).urls
        entries += [ListEntry(url=there, details=NO_DETAILS) for there in resolved]
    return ListDocument(entries=entries, found=found)


def is_url_list(text: str) -> bool:
    """Whether a text consists of URLs only, one per line."""
    lines = [line for line in (line.strip() for line in text.lstrip("\ufeff").split("\n")) if line]
    return bool(lines) and all(_URL_LINE.fullmatch(line) for line in lines)


class _EntryTokenReader:
    """Reads entries from XML tokens."""

    def __init__(self, *, with_details: bool) -> None:
        self._rows: list[dict[str, Any]] = []
        self._names = XmlNames()
        self.indexes = 0
        self._row: dict[str, Any] = {}
        self._field = ""
        self._parts: list[str] = []
        self._wanted = _CORE_TAGS | _EXTENSION_TAGS.keys() if with_details else _CORE_TAGS
        self._with_details = with_details

    def take_completed(self) -> list[dict[str, Any]]:
        """Return the entries completed since the last call."""
        rows, self._rows = self._rows, []
        return rows

    def read(self, text: str) -> None:
        """Read the next text to its end."""
        for kind, tag, value in tokenize(text, self._names):
            if kind == TEXT:
                if self._field:
                    self._parts.append(value)
                elif not self._row and (bare := value.strip()).startswith(("http://", "https://")):
                    self._row["loc"] = bare  # Some sitemaps omit the loc element.
            elif kind == START:
                self._start_element(tag, value)
            elif kind == END:
                self._end_element(tag)

    def _start_element(self, tag: str, value: str) -> None:
        if self._field and (tag in self._wanted or tag in _ENTRY_TAGS):
            self._end_field()  # Its end tag is missing.
        if tag in self._wanted:
            self._field = tag
            self._parts.clear()
        elif tag in _ENTRY_TAGS:
            self.close()
            self.indexes += tag == "sitemap"
        elif self._with_details:
            _start_detail(self._row, tag, value)

    def _end_element(self, tag: str) -> None:
        if tag == self._field:
            self._end_field()
        elif tag in _ENTRY_TAGS:
            if self._field:
                self._end_field()
            self.close()

    def _end_field(self) -> None:
        _store_field(self._row, self._field, "".join(self._parts).strip()[:MAX_FIELD_CHARS])
        self._field = ""

    def close(self) -> None:
        """Complete the current entry, if any."""
        if self._row.get("loc"):
            self._rows.append(self._row)
        self._row = {}


def _start_detail(row: dict[str, Any], tag: str, value: str) -> None:
    if (group := _EXTENSION_GROUPS.get(tag)) is not None:
        kept = row.setdefault(group, [])
        if len(kept) < MAX_DETAILS_PER_ENTRY:
            kept.append({})
    elif tag in {"xhtml:link", "link"}:
        values = parse_attributes(value)
        kept = row.setdefault("alternates", [])
        if values.get("href") and values.get("hreflang") and len(kept) < MAX_DETAILS_PER_ENTRY:
            kept.append({"language": normalize_language(values["hreflang"]), "url": values["href"].strip()})


def _store_field(row: dict[str, Any], name: str, text: str) -> None:
    if name in _CORE_TAGS:
        row.setdefault(name, text)
    elif text:
        group, column = _EXTENSION_TAGS[name]
        kept = row.setdefault(group, [{}])
        if kept:
            kept[-1].setdefault(column, text)


def _build_entry(row: dict[str, Any], url: str) -> ListEntry:
    lastmod = row.get("lastmod", "")
    details: dict[str, Any] = {
        key: [one for one in value if one] for key, value in row.items() if isinstance(value, list)
    }
    news = (details.get("news") or [{}])[0]
    if lastmod and details:
        details["updated_at"] = to_iso_utc(lastmod)
    return ListEntry(
        url=url,
        title=news.get("title", ""),
        lastmod_ms=parse_ms(lastmod) if lastmod else -1,
        changefreq=_parse_frequency(row.get("changefreq", "")),
        priority=_parse_priority(row.get("priority", "")),
        details=details or NO_DETAILS,
    )


def _parse_priority(text: str) -> float:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return -1.0
    return value if 0.0 <= value <= 1.0 else -1.0
