"""When was a page published, and when changed?

Takes what meta elements, structured data, time elements, the URL and the lines about the heading say, in this
order of trust; gives ISO 8601 and what said so. A date that cannot be is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

from .blocks import MAX_LINE_CHARS, Block, lines_about_heading
from .datewords import read_said
from .moments import to_iso
from .pageobjects import PageObjects
from .readings import HtmlReading

EARLIEST_YEAR: Final = 1990
LATEST_YEAR: Final = 2100

PUBLISHED: Final = (
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
MODIFIED: Final = (
    *("article:modified_time", "datemodified", "og:updated_time", "last-modified", "dcterms.modified"),
    *("lastmod", "article:updated", "dc.date.modified"),
)
_IN_DATA: Final = re.compile(
    r'"date(Published|Modified)"\s*+:\s*+\[?\s*+(?:\{[^{}]{0,100}?"@value"\s*:\s*)?"([^"]{4,40})"'
)
_ISO: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d))?(?:[.,]\d+)?"
    r"\s*([Zz]|UTC|GMT|[+-]\d\d(?::?\d\d)?)?(?:\[[\w/+-]{1,40}\])?)?"
)
_COMPACT: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(?:[Tt]?(\d\d)(\d\d)(\d\d)?([Zz]|[+-]\d\d(?::?\d\d)?)?)?")
_SECONDS: Final = re.compile(r"1\d{9}(?:\d{3})?")
"""Since 1970, or thousands of these."""

_IN_URL: Final = re.compile(r"/((?:19|20)\d\d)(?:/(\d\d?)/(\d\d?)(?:/|$)|-([01]\d)-([0-3]\d)(?:[/_.-]|$))")


def as_iso(text: str) -> str:
    """Write a date as ISO 8601, as exactly as it was said; empty where it is none."""
    wanted = text.strip()
    if match := _ISO.fullmatch(wanted):
        return _checked(match.groups())
    if match := _COMPACT.fullmatch(wanted):
        return _checked(match.groups())
    if _SECONDS.fullmatch(wanted):
        return to_iso(wanted)
    said = read_said(wanted)
    if said is None:
        return ""
    day = (str(said.year), str(said.month), str(said.day))
    clock = (None, None, None) if said.clock is None else tuple(map(str, said.clock))
    return _checked((*day, *clock, _written(said.offset)))


def _written(offset: int | None) -> str | None:
    """Write a zone as ISO 8601 does."""
    if not offset:
        return None if offset is None else "Z"
    hours, minutes = divmod(abs(offset), 60)
    return f"{'-' if offset < 0 else '+'}{hours:02}:{minutes:02}"


def find_dates(
    metas: Mapping[str, str], reading: HtmlReading, url: str, objects: PageObjects
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Give publication and modification, each with what said so."""
    published, modified = _said(metas, PUBLISHED), _said(metas, MODIFIED)
    if published is None or modified is None:
        in_data = _in_objects(objects)
        published = published or in_data.get("Published") or _first_time(reading.times) or _of_url(url)
        modified = modified or in_data.get("Modified") or _first_time(reading.changes)
    if (published is None or modified is None) and reading.blocks is not None:
        shown, changed = _of_byline(reading.blocks.blocks)
        published, modified = published or shown, modified or changed
    return published or ("", ""), modified or ("", "")


def _in_objects(objects: PageObjects) -> dict[str, tuple[str, str]]:
    """Read the dates of the page's own objects; where they say none, those of any that is not others'."""
    found: dict[str, tuple[str, str]] = {}
    for item in objects.own:
        for name in ("Published", "Modified"):
            if name not in found and (written := _date_of(item.get(f"date{name}"))):
                found[name] = written, f"json-ld:date{name}"
    if not found:
        for name, value in _IN_DATA.findall(objects.text):
            if written := as_iso(value):
                found.setdefault(name, (written, f"json-ld:date{name}"))
    return found


def _date_of(value: Any) -> str:
    if isinstance(value, list):
        several = (one for one in value[:5] if not isinstance(one, list))
        return next((written for one in several if (written := _date_of(one))), "")
    if isinstance(value, dict):
        value = value.get("@value")
    said = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return as_iso(said[:MAX_LINE_CHARS]) if isinstance(said, str) else ""


_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_CHANGE: Final = re.compile(
    r"updated|modified|edited|revised|aktualisiert|ge[äa]ndert|modifi|mis à jour|actualizado"
    r"|aggiornat|atualizad|bijgewerkt|uppdaterad|opdateret|zaktualizowan|обновлен|изменен|更新",
    re.IGNORECASE,
)


def _of_byline(blocks: Sequence[Block]) -> tuple[tuple[str, str] | None, tuple[str, str] | None]:
    """Read what short lines about the heading say: where a date stands that is meant for people."""
    published = modified = None
    for text in lines_about_heading(blocks):
        if _YEAR.search(text) is None:
            continue
        change = _CHANGE.search(text)
        before = text if change is None else text[: change.start()]
        if published is None and (written := as_iso(before)):
            published = written, "text"
        if change is not None and modified is None and (written := as_iso(text[change.end() :])):
            modified = written, "text"
    return published, modified


def _said(metas: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, str] | None:
    for name in names:
        if (value := metas.get(name)) and (written := as_iso(value)):
            return written, f"meta:{name}"
    return None


def _first_time(times: tuple[str, ...]) -> tuple[str, str] | None:
    return next(((written, "time") for value in times if (written := as_iso(value))), None)


def _of_url(url: str) -> tuple[str, str] | None:
    if match := _IN_URL.search(url):
        try:
            return date(*map(int, filter(None, match.groups()))).isoformat(), "url"
        except ValueError:
            return None
    return None


def _checked(parts: Sequence[str | None]) -> str:
    """Write year, month, day, hour, minute, second and zone, where there is such a moment."""
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
    return f"{moment:%Y-%m-%dT%H:%M:%S}{_zone(zone or '')}"


def _zone(said: str) -> str:
    if not said.startswith(("+", "-")):
        return "Z" if said else ""
    return f"{said[:3]}:{said[3:].lstrip(':') or '00'}"
