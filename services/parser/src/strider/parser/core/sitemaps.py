"""What does a sitemap list? Sets of URLs, indexes, their extensions, and plain lists of URLs.

Takes the tokens of XML, whatever namespace they claim; an address is kept as soon as its entry ends, so
memory grows with what is listed and not with what is said about it.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any, Final

from strider.urls import links

from .listings import MAX_ENTRIES, Entry, Listing
from .markup import END, START, TEXT, attributes, scan
from .metadata import as_language
from .moments import to_iso, to_ms

_FREQUENCIES: Final = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
_ENTRIES: Final = frozenset({"url", "sitemap"})
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
MAX_DETAILS: Final = 50
"""Pictures, films and languages of one entry."""


def read_sitemap(text: str, url: str, *, with_details: bool) -> Listing:
    """Read a sitemap or an index; relative addresses are resolved against `url`."""
    plain = _plain_rows(text)
    if plain is None and not with_details:
        plain = _roomy_rows(text)
    if plain is not None:
        return _of_plain(plain, url)
    gathered = _Rows(with_details=with_details)
    gathered.read(text)
    rows = gathered.rows
    resolved = links(url, [row["loc"] for row in rows], allow_private=True).urls
    return Listing(
        entries=[_entry(row, there) for row, there in zip(rows, resolved, strict=True)],
        found=gathered.found,
        is_index=2 * gathered.indexes > gathered.found,
    )


_PLAIN: Final = re.compile(
    r"<url>\s*<loc>\s*([^<>\s]+)\s*</loc>\s*(?:<lastmod>([^<>&]*)</lastmod>\s*)?"
    r"(?:<changefreq>([^<>&]*)</changefreq>\s*)?(?:<priority>([^<>&]*)</priority>\s*)?</url>\s*"
)
"""An entry as the protocol shows it, with nothing beside its own fields."""

_Plain = tuple[str, str | None, str | None, str | None]


def _plain_rows(text: str) -> list[_Plain] | None:
    """Read a sitemap of plain entries only, which most are; None for any other, which is read tag by tag."""
    at = text.find("<url>")
    if at < 0 or "<loc" in text[:at]:
        return None
    rows: list[_Plain] = []
    for match in _PLAIN.finditer(text, at):
        if match.start() != at:
            return None
        at = match.end()
        rows.append((match[1], match[2], match[3], match[4]))
    return rows if text[at:].strip() == "</urlset>" else None


def _roomy_rows(text: str) -> list[_Plain] | None:
    """Read a sitemap whose entries say more than their own fields, and pass over that; None as above.

    Entries of pictures and languages weigh a kilobyte each, of which a tenth is wanted.
    """
    at = text.find("<url>")
    if at < 0 or "<loc" in text[:at] or "<!" in text[at:]:
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
        if text[after:at].strip() if at >= 0 else text[after:].strip() != "</urlset>":
            return None
    return rows


_LOC: Final = re.compile(r"<loc>\s*([^<>\s]+)\s*</loc>")


def _said(entry: str, name: str) -> str | None:
    start = entry.find(f"<{name}>")
    if start < 0:
        return None
    return entry[start + len(name) + 2 : entry.find("<", start + 1)]


def _of_plain(rows: list[_Plain], url: str) -> Listing:
    kept = rows[:MAX_ENTRIES]
    locs = [unescape(row[0])[:MAX_FIELD_CHARS] if "&" in row[0] else row[0][:MAX_FIELD_CHARS] for row in kept]
    resolved = links(url, locs, allow_private=True).urls
    return Listing(
        entries=[
            Entry(
                url=there,
                lastmod_ms=to_ms(lastmod.strip()) if lastmod else -1,
                changefreq=_frequency(frequency.strip()) if frequency else "",
                priority=_priority(priority.strip()) if priority else -1.0,
            )
            for there, (_, lastmod, frequency, priority) in zip(resolved, kept, strict=True)
        ],
        found=len(rows),
    )


def _frequency(text: str) -> str:
    lower = text.lower()
    return lower if lower in _FREQUENCIES else ""


def read_lines(text: str, url: str) -> Listing:
    """Read a list of URLs, one a line; lines that are none are passed over."""
    lines = [line for line in (line.strip() for line in text.lstrip("\ufeff").split("\n")) if line]
    wanted = [line for line in lines if _LINE.fullmatch(line)]
    resolved = links(url, wanted[:MAX_ENTRIES], allow_private=True).urls
    return Listing(entries=[Entry(url=there) for there in resolved], found=len(wanted))


def is_list_of_urls(text: str) -> bool:
    """Say whether a text consists of URLs, one a line, and of nothing else."""
    lines = [line for line in (line.strip() for line in text.lstrip("\ufeff").split("\n")) if line]
    return bool(lines) and all(_LINE.fullmatch(line) for line in lines)


class _Rows:
    """Gathers entries from tags and texts."""

    def __init__(self, *, with_details: bool) -> None:
        self.rows: list[dict[str, Any]] = []
        self.found = 0
        self.indexes = 0
        self._row: dict[str, Any] = {}
        self._field = ""
        self._parts: list[str] = []
        self._wanted = _OWN | _FURTHER.keys() if with_details else _OWN
        self._with_details = with_details

    def read(self, text: str) -> None:
        for kind, tag, value in scan(text):
            if kind == TEXT:
                if self._field:
                    self._parts.append(value)
                elif not self._row and (bare := value.strip()).startswith(("http://", "https://")):
                    self._row["loc"] = bare  # some leave the loc out
            elif kind == START:
                self._begin(tag, value)
            elif kind == END:
                self._end(tag)
        self._close()  # where the end is missing

    def _begin(self, tag: str, value: str) -> None:
        if tag in self._wanted:
            self._field = tag
            self._parts.clear()
        elif tag in _ENTRIES:
            self._close()
            self.indexes += tag == "sitemap"
        elif self._with_details:
            _open_detail(self._row, tag, value)

    def _end(self, tag: str) -> None:
        if tag == self._field:
            _keep(self._row, tag, "".join(self._parts).strip()[:MAX_FIELD_CHARS])
            self._field = ""
        elif tag in _ENTRIES:
            self._close()

    def _close(self) -> None:
        if self._row.get("loc"):
            self.found += 1
            if len(self.rows) < MAX_ENTRIES:
                self.rows.append(self._row)
        self._row = {}


def _open_detail(row: dict[str, Any], tag: str, value: str) -> None:
    if (group := _GROUPS.get(tag)) is not None:
        kept = row.setdefault(group, [])
        if len(kept) < MAX_DETAILS:
            kept.append({})
    elif tag in {"xhtml:link", "link"}:
        said = attributes(value)
        kept = row.setdefault("alternates", [])
        if said.get("href") and said.get("hreflang") and len(kept) < MAX_DETAILS:
            kept.append({"language": as_language(said["hreflang"]), "url": said["href"].strip()})


def _keep(row: dict[str, Any], name: str, text: str) -> None:
    if name in _OWN:
        row.setdefault(name, text)
    elif text:
        group, column = _FURTHER[name]
        kept = row.setdefault(group, [{}])
        if kept:
            kept[-1].setdefault(column, text)


def _entry(row: dict[str, Any], url: str) -> Entry:
    lastmod = row.get("lastmod", "")
    details: dict[str, Any] = {
        key: [one for one in value if one] for key, value in row.items() if isinstance(value, list)
    }
    news = (details.get("news") or [{}])[0]
    if lastmod and details:
        details["updated_at"] = to_iso(lastmod)
    return Entry(
        url=url,
        title=news.get("title", ""),
        lastmod_ms=to_ms(lastmod) if lastmod else -1,
        changefreq=_frequency(row.get("changefreq", "")),
        priority=_priority(row.get("priority", "")),
        details=details,
    )


def _priority(text: str) -> float:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return -1.0
    return value if 0.0 <= value <= 1.0 else -1.0
