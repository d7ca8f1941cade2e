"""What does a sitemap list? Sets of URLs, indexes, their extensions, and plain lists of URLs.

Takes the tokens of XML, whatever namespace they claim; an address is kept as soon as its entry ends, so
memory grows with what is listed and not with what is said about it. The text comes in pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from strider.parser.core.html.metadata import normalize_language
from strider.urls import resolve_links

from .feed_timestamps import parse_ms, to_iso_utc
from .models import MAX_DETAIL_BYTES, MAX_ENTRIES, NO_DETAILS, ListDocument, ListEntry
from .sitemap_splitter import SitemapPiece, split_lines, split_sitemap
from .xml_tokenizer import END, START, TEXT, Names, attributes, decode_references, tokenize

_CHANGE_FREQUENCIES: Final = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
_ENTRY_TAGS: Final = frozenset({"url", "sitemap"})
_OWN: Final = frozenset({"loc", "lastmod", "changefreq", "priority"})
_FURTHER: Final = {
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
_GROUPS: Final = {"image:image": "images", "video:video": "videos", "news:news": "news"}
_LINE: Final = re.compile(r"https?://\S+", re.IGNORECASE)
MAX_FIELD_CHARS: Final = 2_048
MAX_DETAILS_PER_ENTRY: Final = 50
"""Pictures, films and languages of one entry."""


def parse_sitemap(texts: Iterable[str], url: str, *, with_details: bool) -> ListDocument:
    """Read a sitemap or an index, which may come in pieces; relative addresses are resolved against `url`.

    Each stretch of whole entries is read in the shortest way that fits it, and all ways say the same.
    """
    gathered = _EntryCollector(url)
    rows = _EntryTokenReader(with_details=with_details)
    for stretch in split_sitemap(texts):
        plain = _match_plain_entries(stretch)
        if plain is None and not with_details:
            plain = _match_extended_entries(stretch)
        if plain is None:
            rows.read(stretch.text)
            if stretch.is_last:
                rows.close()  # where the end is missing
            gathered.add_tokenized(rows)
        else:
            if stretch.is_first:
                rows.read(stretch.text[: stretch.text.find("<url>")])  # what namespaces are called
            rows.close()  # as the next entry would
            gathered.add_tokenized(rows)
            gathered.add_plain(plain)
    return ListDocument(
        entries=gathered.entries, found=gathered.found, is_index=2 * rows.indexes > gathered.found
    )


_PLAIN: Final = re.compile(
    r"<url>\s*<loc>\s*([^<>\s]+)\s*</loc>\s*(?:<lastmod>([^<>&]*)</lastmod>\s*)?"
    r"(?:<changefreq>([^<>&]*)</changefreq>\s*)?(?:<priority>([^<>&]*)</priority>\s*)?</url>\s*"
)
"""An entry as the protocol shows it, with nothing beside its own fields."""

_Plain = tuple[str, str | None, str | None, str | None]


def _match_plain_entries(stretch: SitemapPiece) -> list[_Plain] | None:
    """Read plain entries only, as most sitemaps have; None for any other, which are read tag by tag."""
    text = stretch.text
    at = text.find("<url>")
    if at < 0 or not _is_valid_prefix(text[:at], stretch):
        return None
    rows: list[_Plain] = []
    for match in _PLAIN.finditer(text, at):
        if match.start() != at:
            return None
        at = match.end()
        rows.append((match[1], match[2], match[3], match[4]))
    return rows if _is_valid_suffix(text[at:], stretch) else None


def _is_valid_prefix(text: str, stretch: SitemapPiece) -> bool:
    return stretch.is_first or not text.strip()


def _is_valid_suffix(text: str, stretch: SitemapPiece) -> bool:
    return text.strip() == ("</urlset>" if stretch.is_last else "")


def _match_extended_entries(stretch: SitemapPiece) -> list[_Plain] | None:
    """Read entries that say more than their own fields, and pass over that; None as above.

    Entries of pictures and languages weigh a kilobyte each, of which a tenth is wanted.
    """
    text = stretch.text
    at = text.find("<url>")
    if at < 0 or not _is_valid_prefix(text[:at], stretch) or "<!" in text[at:]:
        return None
    rows: list[_Plain] = []
    while at >= 0:
        end = text.find("</url>", at)
        entry = text[at + len("<url>") : end]
        loc = _LOC.search(entry)
        if end < 0 or loc is None or "<url>" in entry:
            return None
        rows.append((loc[1], _said(entry, "lastmod"), _said(entry, "changefreq"), _said(entry, "priority")))
        after = end + len("</url>")
        at = text.find("<url>", after)
        if text[after:at].strip() if at >= 0 else not _is_valid_suffix(text[after:], stretch):
            return None
    return rows


_LOC: Final = re.compile(r"<loc>\s*([^<>\s]+)\s*</loc>")


def _said(entry: str, name: str) -> str | None:
    start = entry.find(f"<{name}>")
    if start < 0:
        return None
    return entry[start + len(name) + 2 : entry.find("<", start + 1)]


def _address(text: str) -> str:
    """Undo what was written as an entity twice: no address has one."""
    return text.replace("&amp;", "&") if "&amp;" in text else text


class _EntryCollector:
    """The entries so far, as many as may be kept."""

    def __init__(self, url: str) -> None:
        self.entries: list[ListEntry] = []
        self.found = 0
        self._url = url
        self._detail_budget = MAX_DETAIL_BYTES

    def add_plain(self, rows: list[_Plain]) -> None:
        """Add entries of their own fields."""
        self.found += len(rows)
        kept = rows[: MAX_ENTRIES - len(self.entries)]
        locs = [
            _address(decode_references(row[0]))[:MAX_FIELD_CHARS]
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
                priority=_priority(priority.strip()) if priority else -1.0,
                details=NO_DETAILS,
            )
            for there, (_, lastmod, frequency, priority) in zip(resolved, kept, strict=True)
        ]

    def add_tokenized(self, rows: _EntryTokenReader) -> None:
        """Add what was read tag by tag."""
        if not (ended := rows.ended()):
            return
        self.found += len(ended)
        kept = ended[: MAX_ENTRIES - len(self.entries)]
        resolved = resolve_links(self._url, [_address(row["loc"]) for row in kept], allow_private=None).urls
        for row, there in zip(kept, resolved, strict=True):
            entry = _entry(row, there)
            self._detail_budget -= len(str(entry.details)) if entry.details else 0
            # Beyond that none travels, so that none is kept.
            has_room = self._detail_budget >= 0
            self.entries.append(entry if has_room else replace(entry, details=NO_DETAILS))


def _parse_frequency(text: str) -> str:
    lower = text.lower()
    return lower if lower in _CHANGE_FREQUENCIES else ""


def parse_url_list(texts: Iterable[str], url: str) -> ListDocument:
    """Read a list of URLs, one a line; lines that are none are passed over."""
    found, entries = 0, list[ListEntry]()
    for lines in split_lines(texts):
        wanted = [line for line in map(str.strip, lines) if _LINE.fullmatch(line)]
        found += len(wanted)
        resolved = resolve_links(url, wanted[: MAX_ENTRIES - len(entries)], allow_private=None).urls
        entries += [ListEntry(url=there, details=NO_DETAILS) for there in resolved]
    return ListDocument(entries=entries, found=found)


def is_url_list(text: str) -> bool:
    """Say whether a text consists of URLs, one a line, and of nothing else."""
    lines = [line for line in (line.strip() for line in text.lstrip("\ufeff").split("\n")) if line]
    return bool(lines) and all(_LINE.fullmatch(line) for line in lines)


class _EntryTokenReader:
    """Gathers entries from tags and texts."""

    def __init__(self, *, with_details: bool) -> None:
        self._rows: list[dict[str, Any]] = []
        self._names = Names()
        self.indexes = 0
        self._row: dict[str, Any] = {}
        self._field = ""
        self._parts: list[str] = []
        self._wanted = _OWN | _FURTHER.keys() if with_details else _OWN
        self._with_details = with_details

    def ended(self) -> list[dict[str, Any]]:
        """Give the entries that have ended since they were last asked for."""
        rows, self._rows = self._rows, []
        return rows

    def read(self, text: str) -> None:
        """Read on, to the end of this text."""
        for kind, tag, value in tokenize(text, self._names):
            if kind == TEXT:
                if self._field:
                    self._parts.append(value)
                elif not self._row and (bare := value.strip()).startswith(("http://", "https://")):
                    self._row["loc"] = bare  # some leave the loc out
            elif kind == START:
                self._begin(tag, value)
            elif kind == END:
                self._end(tag)

    def _begin(self, tag: str, value: str) -> None:
        if self._field and (tag in self._wanted or tag in _ENTRY_TAGS):
            self._end_field()  # it has lost its end
        if tag in self._wanted:
            self._field = tag
            self._parts.clear()
        elif tag in _ENTRY_TAGS:
            self.close()
            self.indexes += tag == "sitemap"
        elif self._with_details:
            _start_detail(self._row, tag, value)

    def _end(self, tag: str) -> None:
        if tag == self._field:
            self._end_field()
        elif tag in _ENTRY_TAGS:
            if self._field:
                self._end_field()
            self.close()

    def _end_field(self) -> None:
        _keep(self._row, self._field, "".join(self._parts).strip()[:MAX_FIELD_CHARS])
        self._field = ""

    def close(self) -> None:
        """End the entry at hand, if there is one."""
        if self._row.get("loc"):
            self._rows.append(self._row)
        self._row = {}


def _start_detail(row: dict[str, Any], tag: str, value: str) -> None:
    if (group := _GROUPS.get(tag)) is not None:
        kept = row.setdefault(group, [])
        if len(kept) < MAX_DETAILS_PER_ENTRY:
            kept.append({})
    elif tag in {"xhtml:link", "link"}:
        said = attributes(value)
        kept = row.setdefault("alternates", [])
        if said.get("href") and said.get("hreflang") and len(kept) < MAX_DETAILS_PER_ENTRY:
            kept.append({"language": normalize_language(said["hreflang"]), "url": said["href"].strip()})


def _keep(row: dict[str, Any], name: str, text: str) -> None:
    if name in _OWN:
        row.setdefault(name, text)
    elif text:
        group, column = _FURTHER[name]
        kept = row.setdefault(group, [{}])
        if kept:
            kept[-1].setdefault(column, text)


def _entry(row: dict[str, Any], url: str) -> ListEntry:
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
        priority=_priority(row.get("priority", "")),
        details=details or NO_DETAILS,
    )


def _priority(text: str) -> float:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return -1.0
    return value if 0.0 <= value <= 1.0 else -1.0
