"""One line of output for each URL: what its events come to. Pure.

The names of the fields are a promise to people's scripts; `docs/crawl.md` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from datetime import UTC, datetime
from typing import Any, Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import Decision, DecisionReason
from strider.contracts.generated.events import PageParsed, PageRejected, UrlsDecided

PAGE: Final = "page"
REJECTED: Final = "rejected"
REDIRECTED: Final = "redirected"
FAILED: Final = "failed"
REFUSED: Final = "refused"
OUTCOMES: Final = (PAGE, REJECTED, REDIRECTED, FAILED, REFUSED)

_OUR_RULES: Final = frozenset(
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
"""Reasons to close an entry that are no failure of the site's."""


@fast_dataclass(frozen=True, slots=True)
class Line:
    """What is known of one URL in the end; empty where nothing is."""

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
    further: Mapping[str, Any] = field(default_factory=dict)
    """Fields that only some crawls have."""


FIELDS: Final = tuple(each.name for each in fields(Line) if each.name != "further")
"""What every line has."""


def _found_on(page: PageParsed | PageRejected) -> str:
    """Name where a URL was found: on a page, or in the redirect that led to it."""
    return page.referrer or (page.redirect_chain[-1] if page.redirect_chain else "")


def line_of_page(page: PageParsed, text: str, further: Mapping[str, Any]) -> Line:
    """Tell of a page that is content."""
    return Line(
        url=page.url,
        final_url=page.url,
        status=page.status,
        depth=page.depth,
        referrer=_found_on(page),
        fetched_at=moment(page.fetched_at_ms),
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


def line_of_rejected(page: PageRejected) -> Line:
    """Tell of a page that is no content."""
    return Line(
        url=page.url,
        final_url=page.url,
        status=page.status,
        depth=page.depth,
        referrer=_found_on(page),
        fetched_at=moment(page.fetched_at_ms),
        title=page.title,
        content_type=page.content_type,
        content_hash=page.text_hash,
        raw_hash=page.raw_hash,
        length=page.body_bytes,
        parser_version=page.parser_version,
        outcome=REJECTED,
        reason=page.rejection_reason,
    )


@fast_dataclass(frozen=True, slots=True)
class Decided:
    """One URL that ended without a page."""

    line: Line
    url_key: str
    has_other_ways: bool
    """It was not taken this way: another page may still lead to it by one that is allowed, or a seed has."""


def lines_of_decided(event: UrlsDecided) -> Iterator[Decided]:
    """Tell of URLs that were refused or closed."""
    for at, url in enumerate(event.urls):
        decision, reason = event.decisions[at], event.reasons[at]
        if decision == Decision.NOT_STORED:
            continue
        target = event.redirect_targets[at] if event.redirect_targets else ""
        referrers = event.referrers
        line = Line(
            url=url,
            final_url=target if reason == DecisionReason.REDIRECTED else "",
            status=event.statuses[at] if event.statuses else 0,
            depth=event.depths[at] if event.depths else 0,
            referrer=referrers[at] if referrers else event.page_url,
            fetched_at=moment(event.decided_at_ms) if event.statuses and event.statuses[at] else "",
            outcome=_outcome(decision, reason),
            reason=reason,
        )
        has_other_ways = decision == Decision.REFUSED and (
            bool(event.page_url) or reason == DecisionReason.ALREADY_SEEN
        )
        yield Decided(line, event.url_keys[at], has_other_ways)


def _outcome(decision: str, reason: str) -> str:
    if decision == Decision.REFUSED or reason in _OUR_RULES:
        return REFUSED
    return REDIRECTED if reason == DecisionReason.REDIRECTED else FAILED


def moment(at_ms: int) -> str:
    """Write a time as ISO 8601, in UTC; nothing for none."""
    if not at_ms:
        return ""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
