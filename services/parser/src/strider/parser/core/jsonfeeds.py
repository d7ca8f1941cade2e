"""What does a JSON Feed list?

Takes the text of one; what is no such thing lists nothing. Values of another type than the standard's are
left out, each for itself.
"""

from __future__ import annotations

import json
from typing import Any, Final

from .brokenjson import repaired
from .listings import MAX_ENTRIES, MAX_TEXT_CHARS, Entry, Listing
from .metadata import resolve
from .moments import to_iso, to_ms
from .plaintexts import plain


def read_json_feed(text: str, url: str) -> Listing:
    """Read a feed; `url` is what its links are resolved against."""
    told = _read(text.lstrip("\ufeff"))
    if not isinstance(told, dict):
        return Listing()
    items = told.get("items")
    rows = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    home = resolve(_text(told, "home_page_url"), url)
    about = {"title": _text(told, "title"), "url": home, "author": _author(told)}
    return Listing(
        title=_text(told, "title"),
        description=_text(told, "description"),
        language=_text(told, "language"),
        url=home,
        about={name: value for name, value in about.items() if value},
        entries=[_entry(row, url) for row in rows[:MAX_ENTRIES]],
        found=len(rows),
    )


def _read(text: str) -> Any:
    """Read the object, repaired where it is broken and that is safe."""
    try:
        return json.loads(text, strict=False)
    except RecursionError:
        return None
    except ValueError:
        return next(iter(repaired(text)), None)


MAX_AUTHORS: Final = 20


def _entry(row: dict[str, Any], base: str) -> Entry:
    published, modified = _text(row, "date_published"), _text(row, "date_modified")
    identity = _identity(row.get("id"))
    own = _text(row, "url") or _text(row, "external_url")
    if not own and identity.startswith(("http://", "https://")):
        own = identity
    details = {
        "id": identity,
        "published_at": to_iso(published),
        "updated_at": to_iso(modified),
        "author": _author(row),
        "summary": _text(row, "summary") or plain(_text(row, "content_text") or _text(row, "content_html")),
    }
    return Entry(
        url=resolve(own, base),
        title=plain(_text(row, "title")),
        lastmod_ms=to_ms(modified or published),
        details={name: value for name, value in details.items() if value},
    )


def _identity(value: Any) -> str:
    """Write an id; numbers are what the first version of the format allowed."""
    return str(value)[:MAX_TEXT_CHARS] if isinstance(value, str | int | float) else ""


def _author(row: dict[str, Any]) -> str:
    authors = row.get("authors")
    several = authors if isinstance(authors, list) and authors else [row.get("author")]
    names = [_text(one, "name") for one in several[:MAX_AUTHORS] if isinstance(one, dict)]
    return ", ".join(filter(None, names))


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    return value[: 20 * MAX_TEXT_CHARS].strip()[:MAX_TEXT_CHARS] if isinstance(value, str) else ""
