"""Parse JSON Feed documents.

A document of another shape lists nothing. Values of an unexpected type are skipped one by one.
"""

from __future__ import annotations

import json
from typing import Any, Final

from strider.parser.core.content.plain_text import strip_markup
from strider.parser.core.html.metadata import resolve_url
from strider.parser.core.structured.json_repair import repair_json

from .models import MAX_DETAIL_BYTES, MAX_ENTRIES, MAX_TEXT_CHARS, NO_DETAILS, ListDocument, ListEntry
from .timestamps import parse_ms, to_iso_utc


def parse_json_feed(text: str, url: str, *, with_details: bool) -> ListDocument:
    """Parse a feed; its links are resolved against `url`."""
    feed = _load(text.lstrip("\ufeff"))
    if not isinstance(feed, dict):
        return ListDocument()
    items = feed.get("items")
    rows = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    home_url = resolve_url(_text(feed, "home_page_url"), url)
    about = {"title": _text(feed, "title"), "url": home_url, "author": _author(feed)}
    return ListDocument(
        title=_text(feed, "title"),
        description=_text(feed, "description"),
        language=_text(feed, "language"),
        url=home_url,
        about={name: value for name, value in about.items() if value},
        entries=_entries(rows[:MAX_ENTRIES], url, detail_budget=MAX_DETAIL_BYTES if with_details else 0),
        found=len(rows),
    )


def _load(text: str) -> Any:
    """Load the JSON value, repaired if that is safe; None if it is invalid."""
    try:
        return json.loads(text, strict=False)
    except RecursionError:
        return None
    except ValueError:
        return next(iter(repair_json(text)), None)


MAX_AUTHORS: Final = 20


def _entries(rows: list[dict[str, Any]], base: str, *, detail_budget: int) -> list[ListEntry]:
    entries = []
    for row in rows:
        details = NO_DETAILS
        if detail_budget > 0:
            details = _details(row)
            detail_budget -= len(str(details))
        entries.append(_entry(row, base, details))
    return entries


def _entry(row: dict[str, Any], base: str, details: dict[str, Any]) -> ListEntry:
    identity = _id_text(row.get("id"))
    own = _text(row, "url") or _text(row, "external_url")
    if not own and identity.startswith(("http://", "https://")):
        own = identity
    return ListEntry(
        url=resolve_url(own, base),
        title=strip_markup(_text(row, "title")),
        lastmod_ms=parse_ms(_text(row, "date_modified") or _text(row, "date_published")),
        details=details,
    )


def _details(row: dict[str, Any]) -> dict[str, Any]:
    details = {
        "id": _id_text(row.get("id")),
        "published_at": to_iso_utc(_text(row, "date_published")),
        "updated_at": to_iso_utc(_text(row, "date_modified")),
        "author": _author(row),
        "summary": _text(row, "summary")
        or strip_markup(_text(row, "content_text") or _text(row, "content_html")),
    }
    return {name: value for name, value in details.items() if value}


def _id_text(value: Any) -> str:
    """Return an id as text; the first version of the format allowed numbers."""
    return str(value)[:MAX_TEXT_CHARS] if isinstance(value, str | int | float) else ""


def _author(row: dict[str, Any]) -> str:
    authors = row.get("authors")
    several = authors if isinstance(authors, list) and authors else [row.get("author")]
    names = [_text(one, "name") for one in several[:MAX_AUTHORS] if isinstance(one, dict)]
    return ", ".join(filter(None, names))


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    return value[: 20 * MAX_TEXT_CHARS].strip()[:MAX_TEXT_CHARS] if isinstance(value, str) else ""
