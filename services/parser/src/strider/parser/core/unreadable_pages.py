"""Build the event of a page that could not be parsed.

Every fetched page results in one parsed event, whatever happened: that settles its frontier entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from strider.contracts.generated.enums import ErrorClass, ExtractionLevel, ParseOutcome
from strider.contracts.generated.events import PageFetched, PageParsed

PARSER: Final = "strider"

PARSER_VERSION: Final = "9"
"""Incremented with every change by which the same bytes may result in another event."""

MAX_MESSAGE_CHARS: Final = 500

_ERROR_CLASSES: Final[dict[str, str]] = {
    ParseOutcome.UNSUPPORTED: ErrorClass.UNSUPPORTED_DOCUMENT,
    ParseOutcome.UNDECODABLE: ErrorClass.BAD_ENCODING,
    ParseOutcome.DECODE_BOMB: ErrorClass.DECODE_BOMB,
    ParseOutcome.TOO_LARGE: ErrorClass.BODY_TOO_LARGE,
    ParseOutcome.MALFORMED: ErrorClass.MALFORMED,
    ParseOutcome.TIMED_OUT: ErrorClass.PARSE_TIMEOUT,
    ParseOutcome.OUT_OF_MEMORY: ErrorClass.PARSE_MEMORY,
    ParseOutcome.CRASHED: ErrorClass.PARSER_CRASHED,
}


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """Reason why a page could not be parsed."""

    outcome: str
    message: str = ""
    error_class: str = ""
    """If empty, the error class of the outcome applies."""


def unreadable_page(page: PageFetched, failure: ParseFailure, **known_fields: Any) -> PageParsed:
    """Return the event of an unreadable page; `known_fields` are fields that are known anyway."""
    return PageParsed(
        **copied_fields(page),
        outcome=failure.outcome,
        error_class=failure.error_class or _ERROR_CLASSES.get(failure.outcome, ""),
        error_message=failure.message[:MAX_MESSAGE_CHARS],
        **known_fields,
    )


def copied_fields(page: PageFetched) -> dict[str, Any]:
    """Return the fields that are copied from the fetched page to the parsed one."""
    return {
        "url": page.url,
        "url_key": page.url_key,
        "origin": page.origin,
        "group": page.group,
        "job_id": page.job_id,
        "execution_id": page.execution_id,
        "crawl_spec_id": page.crawl_spec_id,
        "fetch_sequence": page.fetch_sequence,
        "parser": PARSER,
        "parser_version": PARSER_VERSION,
        "extraction": ExtractionLevel.BASIC,
        "fetched_at_ms": page.fetched_at_ms,
        "kind": page.kind,
        "hop": page.hop,
        "depth": page.depth,
        "priority": page.priority,
        "is_start": page.is_start,
        "referrer": page.referrer,
        "redirect_chain": page.redirect_chain,
        "metadata": page.metadata,
        "status": page.status,
        "content_type": page.content_type,
        "content_language": first_header(page, "content-language"),
        "etag": page.etag,
        "last_modified": page.last_modified,
        "total_us": page.total_us,
        "body_bytes": page.body_bytes,
        "body_object": page.body_object,
        "rendered": page.rendered,
        "not_modified": page.not_modified,
    }


def header_values(page: PageFetched, name: str) -> list[str]:
    """Return the values of all response headers of this name (lower case)."""
    if (
        name not in "\n".join(page.header_names).lower()
    ):  # One search over all names: most pages have no such header.
        return []
    named = zip(page.header_names, page.header_values, strict=False)
    return [value for found, value in named if found.lower() == name]


def first_header(page: PageFetched, name: str) -> str:
    """Return the first response header of this name (lower case), or an empty string."""
    for found, value in zip(page.header_names, page.header_values, strict=False):
        if found.lower() == name:
            return value
    return ""
