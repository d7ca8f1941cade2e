"""The output record of a URL: what the events about it amount to. Pure.

The names of the fields are stable: scripts rely on them (docs/crawl.md lists them).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from datetime import UTC, datetime
from typing import Any, Final

from strider.cli.parse.fields import page_fields
from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import Decision, DecisionReason, ExtractionLevel
from strider.contracts.generated.events import PageParsed, PageRejected, UrlsDecided
from strider.storage.rows.columns import Column
from strider.storage.rows.pages import PAGE_COLUMNS

PAGE: Final = "page"
REJECTED: Final = "rejected"
REDIRECTED: Final = "redirected"
FAILED: Final = "failed"
REFUSED: Final = "refused"
OUTCOMES: Final = (PAGE, REJECTED, REDIRECTED, FAILED, REFUSED)

_OWN_DECISIONS: Final = frozenset(
    {
        DecisionReason.ROBOTS_DENIED,
        DecisionReason.ROBOTS_UNREACHABLE,
        DecisionReason.HOST_BLOCKED,
        DecisionReason.BUDGET,
        DecisionReason.EXECUTION_OVER,
        DecisionReason.CANCELLED,
        DecisionReason.POLICY_BLOCKED,
        DecisionReason.TRAP_SUSPECTED,
    }
)
"""Reasons of the crawler to close an entry; not failures of the site."""

_MAIN: Final[Mapping[str, Any]] = {
    "main_text": "",
    "author": "",
    "published_at": "",
    "modified_at": "",
    "language": "",
    "kind": "",
    "word_count": 0,
    "simhash": "",
    "pagination": {},
}
_RECORDS: Final[Mapping[str, Any]] = {"products": [], "structured": [], "records": None}

_PAGE_COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    level: tuple(column for column in PAGE_COLUMNS if column.crawl in levels)
    for level, levels in (
        (ExtractionLevel.BASIC.value, (ExtractionLevel.BASIC,)),
        (ExtractionLevel.MAIN.value, (ExtractionLevel.BASIC, ExtractionLevel.MAIN)),
        (ExtractionLevel.RECORDS.value, (*ExtractionLevel,)),
    )
}
"""Extraction level → columns of pages that name this level, or one below it, as their own in lines."""

EXTRA_FIELDS: Final[Mapping[str, Mapping[str, Any]]] = {
    level: {**fixed, **{column.name: column.type() for column in _PAGE_COLUMNS[level]}}
    for level, fixed in (
        (ExtractionLevel.BASIC.value, {}),
        (ExtractionLevel.MAIN.value, _MAIN),
        (ExtractionLevel.RECORDS.value, {**_MAIN, **_RECORDS}),
    )
}
"""Extraction level → further fields, with their value where the page has none. Columns of pages come last,
so that no field of a CSV file moves."""


@fast_dataclass(frozen=True, slots=True)
class UrlResult:
    """The output record of one URL; a field without a value is empty."""

    url: str
    final_url: str = ""
    status: int = 0
    depth: int = 0
    referrer: str = ""
    fetched_at: str = ""
    title: str = ""
    description: str = ""
    canonical: str = ""
    text: str = ""
    links: tuple[str, ...] = ()
    content_type: str = ""
    content_hash: str = ""
    raw_hash: str = ""
    length: int = 0
    duration_ms: float = 0.0
    parser_version: str = ""
    outcome: str = PAGE
    reason: str = ""
    detail: str = ""
    further: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the extraction levels above basic. The name is a key of the state file."""


RESULT_FIELDS: Final = tuple(each.name for each in fields(UrlResult) if each.name != "further")
"""Fields of every record."""


def extra_fields(page: PageParsed, level: str, texts: bytes = b"") -> dict[str, Any]:
    """Return the further fields of a page; `texts` are those that were too long for the event."""
    of_columns = {each.name: each.value_in(page) for each in _PAGE_COLUMNS[level]}
    if level == ExtractionLevel.BASIC:
        return of_columns
    known = {**page_fields(page, texts), **of_columns}
    return {name: known[name] for name in EXTRA_FIELDS[level]}


def _referrer(page: PageParsed | PageRejected) -> str:
    """Return where a URL was found: on a page, or in the redirect that led to it."""
    return page.referrer or (page.redirect_chain[-1] if page.redirect_chain else "")


def page_result(page: PageParsed, text: str, further: Mapping[str, Any]) -> UrlResult:
    """Return the record of a valid page."""
    return UrlResult(
        url=page.url,
        final_url=page.url,
        status=page.status,
        depth=page.depth,
        referrer=_referrer(page),
        fetched_at=iso_time(page.fetched_at_ms),
        title=page.title,
        description=page.description,
        canonical=page.canonical_url,
        text=text,
        links=tuple(page.link_urls),
        content_type=page.content_type,
        content_hash=page.text_hash,
        raw_hash=page.raw_hash,
        length=page.decoded_bytes,
        duration_ms=round(page.total_us / 1000, 1),
        parser_version=page.parser_version,
        further=further,
    )


def rejected_result(page: PageRejected) -> UrlResult:
    """Return the record of a rejected page."""
    return UrlResult(
        url=page.url,
        final_url=page.url,
        status=page.status,
        depth=page.depth,
        referrer=_referrer(page),
        fetched_at=iso_time(page.fetched_at_ms),
        title=page.title,
        content_type=page.content_type,
        content_hash=page.text_hash,
        raw_hash=page.raw_hash,
        length=page.body_bytes,
        parser_version=page.parser_version,
        outcome=REJECTED,
        reason=page.rejection_reason,
        detail=page.detail,
    )


@fast_dataclass(frozen=True, slots=True)
class DecidedUrl:
    """One URL that was refused, or closed without a page."""

    result: UrlResult
    url_key: str
    may_still_be_fetched: bool
    """Whether the URL was refused as a link: another page, or a seed, may still lead to it."""


def decided_results(event: UrlsDecided) -> Iterator[DecidedUrl]:
    """Return the records of URLs that were refused or closed."""
    for at, url in enumerate(event.urls):
        decision, reason = event.decisions[at], event.reasons[at]
        if decision == Decision.NOT_STORED:
            continue
        target = event.redirect_targets[at] if event.redirect_targets else ""
        referrers = event.referrers
        line = UrlResult(
            url=url,
            final_url=target if reason == DecisionReason.REDIRECTED else "",
            status=event.statuses[at] if event.statuses else 0,
            depth=event.depths[at] if event.depths else 0,
            referrer=referrers[at] if referrers else event.page_url,
            fetched_at=iso_time(event.decided_at_ms) if event.statuses and event.statuses[at] else "",
            outcome=_outcome(decision, reason),
            reason=reason,
            detail=event.details[at] if event.details else "",
        )
        has_other_ways = decision == Decision.REFUSED and (
            bool(event.page_url) or reason == DecisionReason.ALREADY_SEEN
        )
        yield DecidedUrl(line, event.url_keys[at], has_other_ways)


def _outcome(decision: str, reason: str) -> str:
    if decision == Decision.REFUSED or reason in _OWN_DECISIONS:
        return REFUSED
    return REDIRECTED if reason == DecisionReason.REDIRECTED else FAILED


def iso_time(at_ms: int) -> str:
    """Return a time as ISO 8601, in UTC; empty for 0."""
    if not at_ms:
        return ""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
