"""What is wrong with stored pages: empty, impossible or changed fields, by site and parser version.

Takes rows as the tables have them, gives findings. A field that no page of a site has is that site's way;
what counts as changed is that pages of one version, or the newer pages, lack what the others have. Pure.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final

LEAST_PAGES: Final = 10
"""Fewer of a kind say nothing about it."""
DROP: Final = 0.25
"""Share of pages by which a field must have become emptier to count as changed."""
MOSTLY: Final = 0.9
"""Share of pages from which on what is wrong with them is wrong with their site."""

FIELDS: Final = ("title", "description", "language", "author", "published_at", "canonical_url", "text")

Row = Mapping[str, Any]

_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
EARLIEST_YEAR: Final = 1990
MAX_AUTHOR_CHARS: Final = 150
AHEAD: Final = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    kind: str
    """`empty`, `impossible`, `repeated` or `changed`."""
    domain: str
    field: str
    what: str
    pages: int
    of: int
    example: str = ""


def audit(rows: Iterable[Row], now: datetime) -> list[Finding]:
    """Look through a sample; worst first."""
    by_domain: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_domain[row["domain"]].append(row)
    found: list[Finding] = []
    for domain, pages in by_domain.items():
        found += _empty(domain, pages)
        found += _impossible(domain, pages, now)
        found += _repeated(domain, pages)
        found += _changed(domain, pages)
    return sorted(found, key=lambda one: (_ORDER.index(one.kind), -one.pages, one.domain, one.field))


_ORDER: Final = ("impossible", "changed", "repeated", "empty")


def _empty(domain: str, pages: Sequence[Row]) -> Iterator[Finding]:
    for name in ("title", "text"):
        without = [row for row in pages if not row[name]]
        if without:
            yield Finding("empty", domain, name, "says nothing", len(without), len(pages), without[0]["url"])


def _impossible(domain: str, pages: Sequence[Row], now: datetime) -> Iterator[Finding]:
    for field, what, is_wrong in _RULES:
        wrong = [row for row in pages if is_wrong(row, now)]
        if wrong:
            yield Finding("impossible", domain, field, what, len(wrong), len(pages), wrong[0]["url"])


def _repeated(domain: str, pages: Sequence[Row]) -> Iterator[Finding]:
    """Find what most pages of a site say alike: it was taken from their frame, not from themselves."""
    if len(pages) < LEAST_PAGES:
        return
    for name in ("title", "description", "published_at", "content_hash"):
        said = Counter(row[name] for row in pages if row[name])
        value, count = said.most_common(1)[0] if said else ("", 0)
        if count >= MOSTLY * len(pages):
            example = next(row["url"] for row in pages if row[name] == value)
            yield Finding(
                "repeated", domain, name, f"is {str(value)[:60]!r} on nearly all", count, len(pages), example
            )


def _changed(domain: str, pages: Sequence[Row]) -> Iterator[Finding]:
    versions: dict[str, list[Row]] = defaultdict(list)
    for row in pages:
        versions[f"{row['parser']} {row['parser_version']}"].append(row)
    ordered = sorted(versions.items(), key=lambda item: max(row["crawled_at"] for row in item[1]))
    for (before, older), (after, newer) in pairwise(ordered):
        yield from _compare(domain, older, newer, f"since {after}, with {before}")
    for version, alike in ordered:
        by_time = sorted(alike, key=lambda row: row["crawled_at"])
        half = len(by_time) // 2
        yield from _compare(domain, by_time[:half], by_time[half:], f"lately, with {version}")


def _compare(domain: str, older: Sequence[Row], newer: Sequence[Row], when: str) -> Iterator[Finding]:
    if min(len(older), len(newer)) < LEAST_PAGES:
        return
    for name in FIELDS:
        before, after = (sum(bool(row[name]) for row in some) / len(some) for some in (older, newer))
        if before - after >= DROP:
            missing = [row for row in newer if not row[name]]
            what = f"on {after:.0%} of pages {when} on {before:.0%}"
            yield Finding("changed", domain, name, what, len(missing), len(newer), missing[0]["url"])


def _is_no_date(row: Row, now: datetime) -> bool:
    said = row["published_at"]
    match = _DATE.match(said) if said else None
    if not said:
        return False
    try:
        moment = datetime.fromisoformat(match[0]).replace(tzinfo=now.tzinfo) if match else None
    except ValueError:
        return True
    return moment is None or moment.year < EARLIEST_YEAR or moment > now + AHEAD


Rule = tuple[str, str, Callable[[Row, datetime], bool]]

_RULES: Final[tuple[Rule, ...]] = (
    ("published_at", "is no date, or lies ahead", _is_no_date),
    (
        "language",
        "is no language",
        lambda row, _: bool(row["language"]) and not _LANGUAGE.fullmatch(row["language"]),
    ),
    (
        "text",
        "has words and no letters, or letters and no words",
        lambda row, _: bool(row["word_count"]) != bool(row["text_length"]),
    ),
    ("quality", "lies beyond 1", lambda row, _: row["quality"] > 1),
    (
        "content_hash",
        "is missing though there is text",
        lambda row, _: bool(row["text_length"]) and not row["content_hash"],
    ),
    ("title", "is an address", lambda row, _: str(row["title"]).startswith(("http://", "https://"))),
    (
        "author",
        "is an address or as long as a text",
        lambda row, _: str(row["author"]).startswith("http") or len(row["author"]) > MAX_AUTHOR_CHARS,
    ),  # a long name
    ("changed_at", "lies before the first crawl", lambda row, _: row["changed_at"] < row["first_crawled_at"]),
)
