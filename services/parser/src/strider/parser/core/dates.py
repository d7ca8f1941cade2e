"""When was a page published, and when changed?

Takes what meta elements, structured data and time elements say, in this order of trust; gives ISO 8601 and
what said so. A date that cannot be is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Final

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
_MAIL_FORMS: Final = ("%a, %d %b %Y %H:%M:%S %z", "%d %b %Y %H:%M:%S %z")
_IN_DATA: Final = re.compile(r'"date(Published|Modified)"\s*:\s*"([^"]{4,40})"')
_ISO: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?(?:[.,]\d+)?\s*(Z|[+-]\d\d:?\d\d)?)?"
)
_IN_URL: Final = re.compile(r"/((?:19|20)\d\d)/(\d\d?)/(\d\d?)(?:/|$)")


def as_iso(text: str) -> str:
    """Write a date as ISO 8601, as exactly as it was said; empty where it is none."""
    wanted = text.strip()
    if match := _ISO.match(wanted):
        return _checked(match)
    found = _by_words(wanted)
    if found is None or not EARLIEST_YEAR <= found.year <= LATEST_YEAR:
        return ""
    if (found.hour, found.minute, found.second) == (0, 0, 0) and ":" not in wanted:
        return found.date().isoformat()
    return found.isoformat()


def find_dates(
    metas: Mapping[str, str], data: str, times: tuple[str, ...], url: str
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Give publication and modification, each with what said so; `data` is structured data as it stands."""
    in_data: dict[str, tuple[str, str]] = {}
    for name, value in _IN_DATA.findall(data):
        if written := as_iso(value):
            in_data.setdefault(name, (written, f"json-ld:date{name}"))
    published = _said(metas, PUBLISHED) or in_data.get("Published") or _first_time(times) or _of_url(url)
    return published or ("", ""), _said(metas, MODIFIED) or in_data.get("Modified") or ("", "")


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
            return date(*map(int, match.groups())).isoformat(), "url"
        except ValueError:
            return None
    return None


def _checked(match: re.Match[str]) -> str:
    year, month, day, hour, minute, second, zone = match.groups()
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC
        )
    except ValueError:
        return ""
    if not EARLIEST_YEAR <= moment.year <= LATEST_YEAR:
        return ""
    if hour is None:
        return moment.date().isoformat()
    offset = "" if zone is None else "Z" if zone == "Z" else f"{zone[:3]}:{zone[-2:]}"
    return f"{moment:%Y-%m-%dT%H:%M:%S}{offset}"


def _by_words(text: str) -> datetime | None:
    for form in _MAIL_FORMS:
        try:
            return datetime.strptime(text.replace("GMT", "+0000"), form)  # noqa: DTZ007  # each has its zone
        except ValueError:
            continue
    for form in ("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
