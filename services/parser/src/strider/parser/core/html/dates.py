"""Find the publication and modification dates of a page.

Sources in order of trust: meta elements, structured data, time elements, the URL, lines near the heading.
Returns ISO 8601 dates with their source; impossible dates are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

from strider.parser.core.content.text_blocks import MAX_LINE_CHARS, TextBlock, lines_near_heading
from strider.parser.core.lists.timestamps import to_iso_utc
from strider.parser.core.structured.page_entities import PageEntities

from .date_parser import parse_date_text
from .models import HtmlExtract

EARLIEST_YEAR: Final = 1990
LATEST_YEAR: Final = 2100

PUBLISHED_PROPERTIES: Final = (
    *(
        "article:published_time",
        "datepublished",
        "og:published_time",
        "publish_date",
        "pubdate",
        "publication_date",
    ),
    *(
        "date",
        "dc.date",
        "dc.date.issued",
        "dcterms.created",
        "dcterms.date",
        "sailthru.date",
        "parsely-pub-date",
    ),
    *("citation_publication_date", "article.published", "article:published", "publishdate", "og:pubdate"),
)
MODIFIED_PROPERTIES: Final = (
    *("article:modified_time", "datemodified", "og:updated_time", "last-modified", "dcterms.modified"),
    *("lastmod", "article:updated", "dc.date.modified"),
)
_JSON_DATE_FIELD: Final = re.compile(
    r'"date(Published|Modified)"\s*+:\s*+\[?\s*+(?:\{[^{}]{0,100}?"@value"\s*:\s*)?"([^"]{4,40})"'
)
_ISO: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d))?(?:[.,]\d+)?"
    r"\s*([Zz]|UTC|GMT|[+-]\d\d(?::?\d\d)?)?(?:\[[\w/+-]{1,40}\])?)?"
)
_COMPACT_ISO: Final = re.compile(
    r"(\d{4})(\d\d)(\d\d)(?:[Tt]?(\d\d)(\d\d)(\d\d)?([Zz]|[+-]\d\d(?::?\d\d)?)?)?"
)
_UNIX_TIME: Final = re.compile(r"1\d{9}(?:\d{3})?")
"""Seconds or milliseconds since 1970."""

_URL_DATE: Final = re.compile(r"/((?:19|20)\d\d)(?:/(\d\d?)/(\d\d?)(?:/|$)|-([01]\d)-([0-3]\d)(?:[/_.-]|$))")


def parse_date(text: str) -> str:
    """Return a date as ISO 8601 in the precision of its text; empty if there is none."""
    stripped = text.strip()
    if match := _ISO.fullmatch(stripped):
        return _format_checked(match.groups())
    if match := _COMPACT_ISO.fullmatch(stripped):
        return _format_checked(match.groups())
    if _UNIX_TIME.fullmatch(stripped):
        return to_iso_utc(stripped)
    parsed = parse_date_text(stripped)
    if parsed is None:
        return ""
    day = (str(parsed.year), str(parsed.month), str(parsed.day))
    time = (None, None, None) if parsed.time is None else tuple(map(str, parsed.time))
    return _format_checked((*day, *time, _format_offset(parsed.utc_offset_minutes)))


def _format_offset(offset: int | None) -> str | None:
    """Format a zone offset as ISO 8601."""
    if not offset:
        return None if offset is None else "Z"
    hours, minutes = divmod(abs(offset), 60)
    return f"{'-' if offset < 0 else '+'}{hours:02}:{minutes:02}"


def find_dates(
    metas: Mapping[str, str], html: HtmlExtract, url: str, entities: PageEntities
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return publication and modification date, each with its source."""
    published, modified = _from_meta(metas, PUBLISHED_PROPERTIES), _from_meta(metas, MODIFIED_PROPERTIES)
    if published is None or modified is None:
        in_data = _from_structured_data(entities)
        published = (
            published or in_data.get("Published") or _first_time(html.published_times) or _from_url(url)
        )
        modified = modified or in_data.get("Modified") or _first_time(html.modified_times)
    if (published is None or modified is None) and html.blocks is not None:
        shown, changed = _from_heading_lines(html.blocks.blocks)
        published, modified = published or shown, modified or changed
    return published or ("", ""), modified or ("", "")


def _from_structured_data(entities: PageEntities) -> dict[str, tuple[str, str]]:
    """Return the dates of the page's own entities; else those of any entity but foreign ones."""
    found: dict[str, tuple[str, str]] = {}
    for item in entities.own:
        for name in ("Published", "Modified"):
            if name not in found and (written := _parse_value(item.get(f"date{name}"))):
                found[name] = written, f"json-ld:date{name}"
    if not found:
        for name, value in _JSON_DATE_FIELD.findall(entities.own_text):
            if written := parse_date(value):
                found.setdefault(name, (written, f"json-ld:date{name}"))
    return found


def _parse_value(value: Any) -> str:
    if isinstance(value, list):
        several = (one for one in value[:5] if not isinstance(one, list))
        return next((written for one in several if (written := _parse_value(one))), "")
    if isinstance(value, dict):
        value = value.get("@value")
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return parse_date(text[:MAX_LINE_CHARS]) if isinstance(text, str) else ""


_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_MODIFIED_TERMS: Final = re.compile(
    r"updated|modified|edited|revised|aktualisiert|ge[äa]ndert|modifi|mis à jour|actualizado"
    r"|aggiornat|atualizad|bijgewerkt|uppdaterad|opdateret|zaktualizowan|обновлен|изменен|更新",
    re.IGNORECASE,
)


def _from_heading_lines(blocks: Sequence[TextBlock]) -> tuple[tuple[str, str] | None, tuple[str, str] | None]:
    """Return the dates in short lines near the heading, which are written for readers."""
    published = modified = None
    for text in lines_near_heading(blocks):
        if _YEAR.search(text) is None:
            continue
        change = _MODIFIED_TERMS.search(text)
        before = text if change is None else text[: change.start()]
        if published is None and (written := parse_date(before)):
            published = written, "text"
        if change is not None and modified is None and (written := parse_date(text[change.end() :])):
            modified = written, "text"
    return published, modified


def _from_meta(metas: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, str] | None:
    for name in names:
        if (value := metas.get(name)) and (written := parse_date(value)):
            return written, f"meta:{name}"
    return None


def _first_time(times: tuple[str, ...]) -> tuple[str, str] | None:
    return next(((written, "time") for value in times if (written := parse_date(value))), None)


def _from_url(url: str) -> tuple[str, str] | None:
    if match := _URL_DATE.search(url):
        try:
            return date(*map(int, filter(None, match.groups()))).isoformat(), "url"
        except ValueError:
            return None
    return None


def _format_checked(parts: Sequence[str | None]) -> str:
    """Format year, month, day, hour, minute, second and zone; empty if there is no such time."""
    *numbers, zone = parts
    year, month, day, hour, minute, second = (int(part or 0) for part in numbers)
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return ""
    if not EARLIEST_YEAR <= moment.year <= LATEST_YEAR:
        return ""
    if parts[3] is None:
        return moment.date().isoformat()
    return f"{moment:%Y-%m-%dT%H:%M:%S}{_format_zone(zone or '')}"


def _format_zone(zone: str) -> str:
    if not zone.startswith(("+", "-")):
        return "Z" if zone else ""
    return f"{zone[:3]}:{zone[3:].lstrip(':') or '00'}"
