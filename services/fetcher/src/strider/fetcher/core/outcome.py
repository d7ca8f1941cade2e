"""Build the events of a finished request: FetchCompleted and PageFetched.

Takes the request, its result and its trace; returns the two events to publish: the page, if there is one, and
how the request ended. Exceptions became error classes in `adapters.http.error_mapping`; the tables here turn
these and HTTP statuses into outcomes. What happens next (a retry, the target of a redirect, a pause of the
host) is the scheduler's decision, made from the outcome and error class chosen here.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import ErrorCategory, ErrorClass, FetchOutcome, RequestKind
from strider.contracts.generated.events import FetchCompleted, FetchRequested, PageFetched
from strider.contracts.generated.topics import FETCHES_COMPLETED

from .body_limits import MAX_ROBOTS_BYTES, content_encodings, content_length
from .redirects import (
    RedirectRules,
    ResolvedRedirect,
    is_redirect,
    resolve_redirect,
    resolve_robots_redirect,
)
from .request_headers import is_conditional
from .response_models import FailedFetch, FetchedResponse, FetchResult, RequestTrace, ResponseHead
from .retry_after import parse_retry_after
from .robots_body import decode_robots_body, read_robots_directives

_NETWORK_ERRORS: Final = (
    *(ErrorClass.DNS_NOT_FOUND, ErrorClass.DNS_FAILED, ErrorClass.DNS_EMPTY, ErrorClass.DNS_LOOP),
    *(ErrorClass.CONNECT_REFUSED, ErrorClass.CONNECT_UNREACHABLE),
    *(ErrorClass.CONNECTION_RESET, ErrorClass.CONNECTION_CLOSED, ErrorClass.BODY_TRUNCATED),
    *(ErrorClass.TLS_EXPIRED, ErrorClass.TLS_WRONG_NAME, ErrorClass.TLS_UNTRUSTED, ErrorClass.TLS_FAILED),
)
_TIMEOUT_ERRORS: Final = (
    *(ErrorClass.DNS_TIMEOUT, ErrorClass.CONNECT_TIMEOUT, ErrorClass.TLS_TIMEOUT),
    *(ErrorClass.HEAD_TIMEOUT, ErrorClass.BODY_TIMEOUT, ErrorClass.TOTAL_TIMEOUT),
)
_PROTOCOL_ERRORS: Final = (
    *(ErrorClass.BAD_STATUS_LINE, ErrorClass.BAD_HEADER, ErrorClass.HEAD_TOO_LARGE, ErrorClass.BAD_FRAMING),
    *(ErrorClass.TOO_MANY_INFORMATIONAL, ErrorClass.TOO_MANY_ENCODINGS, ErrorClass.BAD_ENCODING),
)
_POLICY_ERRORS: Final = (
    *(ErrorClass.BAD_URL, ErrorClass.REFUSED_SCHEME, ErrorClass.REFUSED_PORT),
    *(ErrorClass.REFUSED_ADDRESS, ErrorClass.REFUSED_HOST, ErrorClass.NO_CONTACT),
)
_PROXY_ERRORS: Final = (ErrorClass.PROXY_UNREACHABLE, ErrorClass.PROXY_REFUSED, ErrorClass.PROXY_AUTH)

_OUTCOME_BY_ERROR: Final[Mapping[ErrorClass, tuple[FetchOutcome, ErrorCategory]]] = {
    **dict.fromkeys(_NETWORK_ERRORS, (FetchOutcome.NETWORK_FAILED, ErrorCategory.NETWORK)),
    **dict.fromkeys(_TIMEOUT_ERRORS, (FetchOutcome.TIMED_OUT, ErrorCategory.NETWORK)),
    **dict.fromkeys(_PROTOCOL_ERRORS, (FetchOutcome.PROTOCOL_ERROR, ErrorCategory.PROTOCOL)),
    **dict.fromkeys(_POLICY_ERRORS, (FetchOutcome.POLICY_BLOCKED, ErrorCategory.POLICY)),
    **dict.fromkeys(_PROXY_ERRORS, (FetchOutcome.PROXY_FAILED, ErrorCategory.NETWORK)),
    ErrorClass.TOO_SLOW: (FetchOutcome.TOO_SLOW, ErrorCategory.NETWORK),
    ErrorClass.BODY_TOO_LARGE: (FetchOutcome.TOO_LARGE, ErrorCategory.POLICY),
    ErrorClass.UNSUPPORTED_DOCUMENT: (FetchOutcome.UNSUPPORTED_TYPE, ErrorCategory.POLICY),
    ErrorClass.OFFLINE: (FetchOutcome.OFFLINE, ErrorCategory.NETWORK),
    ErrorClass.CANCELLED: (FetchOutcome.INTERRUPTED, ErrorCategory.INFRASTRUCTURE),
    ErrorClass.INTERNAL: (FetchOutcome.CRASHED, ErrorCategory.HANDLER),
}

_OUTCOME_BY_STATUS: Final[Mapping[int, FetchOutcome]] = {
    401: FetchOutcome.BLOCKED,
    403: FetchOutcome.BLOCKED,
    404: FetchOutcome.NOT_FOUND,
    410: FetchOutcome.NOT_FOUND,
    429: FetchOutcome.RATE_LIMITED,
    503: FetchOutcome.OVERLOADED,
}

_POSSIBLE_OUTAGE_ERRORS: Final = frozenset(
    {
        *(ErrorClass.DNS_NOT_FOUND, ErrorClass.DNS_FAILED, ErrorClass.DNS_EMPTY),
        *(ErrorClass.CONNECT_UNREACHABLE, ErrorClass.CONNECTION_RESET, ErrorClass.PROXY_UNREACHABLE),
        *_TIMEOUT_ERRORS,
    }
)

STATUS_NOT_MODIFIED: Final = 304
STATUS_PARTIAL_CONTENT: Final = 206


def outcome_of_error(error_class: ErrorClass) -> tuple[FetchOutcome, ErrorCategory]:
    """Return the outcome and category of an error class; an unlisted one is a fault of our own."""
    return _OUTCOME_BY_ERROR.get(error_class, (FetchOutcome.CRASHED, ErrorCategory.HANDLER))


def may_be_local_outage(error_class: ErrorClass) -> bool:
    """Whether the loss of our own network would look like this error too."""
    return error_class in _POSSIBLE_OUTAGE_ERRORS


def outcome_of_status(status: int) -> tuple[FetchOutcome, ErrorClass | None]:
    """Return the outcome and error class of a status that is neither a redirect nor 304.

    Partial content (206) is odd, as no range was requested. Numbers beyond 599 mean the same as 5xx (RFC
    9110, 15).
    """
    if 200 <= status < 300 and status != STATUS_PARTIAL_CONTENT:  # noqa: PLR2004  # HTTP's own numbers
        return FetchOutcome.FETCHED, None
    if 400 <= status < 500:  # noqa: PLR2004
        return _OUTCOME_BY_STATUS.get(status, FetchOutcome.CLIENT_ERROR), ErrorClass.STATUS_CLIENT
    if status >= 500:  # noqa: PLR2004
        return _OUTCOME_BY_STATUS.get(status, FetchOutcome.SERVER_ERROR), ErrorClass.STATUS_SERVER
    return FetchOutcome.ODD_STATUS, None


MAX_MESSAGE_CHARACTERS: Final = 500
MAX_FIELD_CHARACTERS: Final = 1024
"""Longest part of a header that is kept in a field of its own."""

_RESERVED_BYTES: Final = 4 * 1024
"""Reserved in an event for everything small: numbers, enum words, framing."""

_NO_HEAD: Final = ResponseHead(0, http_version="")


@fast_dataclass(frozen=True, slots=True)
class FetchEvents:
    """Events to publish about a request."""

    completed: FetchCompleted
    page: PageFetched | None = None
    """With its body inline; the publisher moves a large one to the object store."""


@fast_dataclass(frozen=True, slots=True)
class _Classification:
    """An outcome with the error that led to it."""

    outcome: FetchOutcome
    error_class: str = ""
    error_category: str = ""
    message: str = ""


def interpret_result(
    request: FetchRequested,
    result: FetchResult,
    *,
    trace: RequestTrace,
    rules: RedirectRules,
) -> FetchEvents:
    """Build the events for a finished request."""
    fields = _request_fields(request) | _head_fields(result.head or _NO_HEAD) | _trace_fields(trace)
    body_hash = sha256(result.body).hexdigest() if isinstance(result, FetchedResponse) and result.body else ""
    decided = _classify(request, result)
    is_page = request.kind != RequestKind.ROBOTS and isinstance(result, FetchedResponse)
    has_page = is_page and decided.outcome in {FetchOutcome.FETCHED, FetchOutcome.NOT_MODIFIED}
    completed = FetchCompleted(
        **fields,
        outcome=decided.outcome,
        error_class=decided.error_class,
        error_category=decided.error_category,
        error_message=_without_nul(decided.message)[:MAX_MESSAGE_CHARACTERS],
        completed_at_ms=trace.completed_at_us // 1000,
        before_connect=trace.is_before_connect,
        has_page=has_page,
        cookies_changed=trace.cookies_changed,
        marked_at_us=trace.marked_at_us,
        body_bytes=result.body_bytes,
        raw_hash=body_hash,
        truncated=isinstance(result, FetchedResponse) and result.is_truncated,
        **_conditional_fields(request, result, outcome=decided.outcome, trace=trace, rules=rules),
    )
    if not has_page or not isinstance(result, FetchedResponse):
        return FetchEvents(completed)
    return FetchEvents(
        completed, _page_event(fields, result, trace=trace, body_hash=body_hash, outcome=decided.outcome)
    )


def _classify(request: FetchRequested, result: FetchResult) -> _Classification:
    if isinstance(result, FailedFetch):
        outcome, category = outcome_of_error(result.error_class)
        return _Classification(outcome, result.error_class, category, result.message)
    head = result.head
    if head.status == STATUS_NOT_MODIFIED and is_conditional(request):
        return _Classification(FetchOutcome.NOT_MODIFIED)
    if is_redirect(head):
        return _Classification(FetchOutcome.REDIRECTED)
    outcome, error = outcome_of_status(head.status)
    if request.kind == RequestKind.ROBOTS and head.status == STATUS_PARTIAL_CONTENT:
        # Every 2xx response brings rules (RFC 9309, 2.3.1.1), and the part that was received is binding.
        outcome = FetchOutcome.FETCHED
    if error is None:
        return _Classification(outcome)
    return _Classification(outcome, error, ErrorCategory.HTTP, f"status {head.status}")


def _request_fields(request: FetchRequested) -> dict[str, Any]:
    """Return the fields that every event of an entry carries on from its request."""
    return {
        "url": request.url,
        "url_key": request.url_key,
        "origin": request.origin,
        "group": request.group,
        "job_id": request.job_id,
        "execution_id": request.execution_id,
        "crawl_spec_id": request.crawl_spec_id,
        "fetch_sequence": request.fetch_sequence,
        "lease_id": request.lease_id,
        "try_number": request.try_number,
        "kind": request.kind,
        "hop": request.hop,
        "depth": request.depth,
        "priority": request.priority,
        "is_start": request.is_start,
        "referrer": request.referrer,
        "redirect_chain": request.redirect_chain,
        "metadata": request.metadata,
    }


def _head_fields(head: ResponseHead) -> dict[str, Any]:
    field = head.get
    return {
        "status": head.status,
        "http_version": head.http_version,
        "content_type": field("content-type")[:MAX_FIELD_CHARACTERS],
        "content_length": content_length(head),
        "etag": _validator_or_empty(field("etag")),
        "last_modified": _validator_or_empty(field("last-modified")),
    }


def _validator_or_empty(value: str) -> str:
    """Return a validator for conditional requests; empty if too long, as half of it is useless."""
    return value if len(value) <= MAX_FIELD_CHARACTERS else ""


def _trace_fields(trace: RequestTrace) -> dict[str, Any]:
    return {
        "started_at_us": trace.started_at_us,
        "worker_id": trace.worker_id,
        "user_agent": trace.user_agent,
        "remote_address": trace.remote_address,
        "proxy": trace.proxy,
        "connection_reused": trace.is_connection_reused,
        "tls_verified": trace.is_tls_verified,
        "dns_us": trace.dns_us,
        "connect_us": trace.connect_us,
        "tls_us": trace.tls_us,
        "ttfb_us": trace.ttfb_us,
        "total_us": trace.total_us,
    }


def _conditional_fields(
    request: FetchRequested,
    result: FetchResult,
    *,
    outcome: FetchOutcome,
    trace: RequestTrace,
    rules: RedirectRules,
) -> dict[str, Any]:
    """Return the fields of some outcomes: redirect target, Retry-After, robots.txt rules."""
    fields: dict[str, Any] = {}
    head = result.head
    if head is not None and (delays := head.get_all("retry-after")):
        date, now_us = head.get("date"), trace.completed_at_us
        # Of several values the longest: waiting too long does no harm.
        fields["retry_after_seconds"] = max(
            parse_retry_after(value, date=date, now_us=now_us) for value in delays
        )
    if isinstance(result, FailedFetch):
        # Whether the site itself failed depends on how many redirects led away from it.
        return fields | {"robots_hops": len(result.redirect_chain)} if result.redirect_chain else fields
    url = result.final_url or request.url
    if outcome == FetchOutcome.REDIRECTED:
        redirect = _redirect_of(request, result, url=url, rules=rules)
        fields["redirect_target"] = redirect.target
        fields["redirect_target_key"] = redirect.target_key
        fields["redirect_refused"] = redirect.refusal
    if request.kind == RequestKind.ROBOTS:
        fields |= {"robots_url": url, "robots_hops": len(result.redirect_chain)}
        if outcome == FetchOutcome.FETCHED:
            fields |= _robots_fields(
                result, url=url, trace=trace, max_bytes=_max_robots_text_bytes(request, url)
            )
    return fields


def _redirect_of(
    request: FetchRequested, result: FetchedResponse, *, url: str, rules: RedirectRules
) -> ResolvedRedirect:
    if request.kind == RequestKind.ROBOTS:
        chain = result.redirect_chain
        return resolve_robots_redirect(
            result.head, url=url, redirect_chain=chain, requested_url=request.url, rules=rules
        )
    chain, hop = request.redirect_chain, request.hop
    return resolve_redirect(result.head, url=url, redirect_chain=chain, hop=hop, rules=rules)


def _robots_fields(
    response: FetchedResponse, *, url: str, trace: RequestTrace, max_bytes: int
) -> dict[str, Any]:
    text, is_cut = decode_robots_body(response, max_bytes=min(MAX_ROBOTS_BYTES, max_bytes))
    directives = read_robots_directives(
        text, url=url, user_agent=trace.user_agent, max_sitemap_bytes=max_bytes - len(text.encode())
    )
    return {
        "robots_text": text,
        "robots_truncated": is_cut or response.head.status == STATUS_PARTIAL_CONTENT,
        "crawl_delay_seconds": directives.crawl_delay_seconds,
        "sitemap_urls": directives.sitemaps,
    }


def _page_event(
    shared_fields: dict[str, Any],
    response: FetchedResponse,
    *,
    trace: RequestTrace,
    body_hash: str,
    outcome: FetchOutcome,
) -> PageFetched:
    head = response.head
    return PageFetched(
        **shared_fields,
        fetched_at_ms=trace.completed_at_us // 1000,
        header_names=head.header_names,
        header_values=tuple(map(_without_nul, head.header_values)),
        content_encoding=", ".join(content_encodings(head)),
        body=response.body,
        body_bytes=response.body_bytes,
        body_sha256=body_hash,
        truncated=response.is_truncated,
        not_modified=outcome == FetchOutcome.NOT_MODIFIED,
    )


def max_inline_body_bytes(page: PageFetched, *, max_bytes: int) -> int:
    """Return how many bytes of body fit into the event next to its other fields."""
    texts = (*page.header_names, *page.header_values, *page.redirect_chain)
    pairs = (*page.metadata.keys(), *page.metadata.values())
    singles = (page.url, page.origin, page.group, page.referrer, page.user_agent, page.content_type)
    taken = sum(len(text.encode()) + 4 for text in (*texts, *pairs, *singles))
    return max_bytes - taken - _RESERVED_BYTES


def _max_robots_text_bytes(request: FetchRequested, url: str) -> int:
    """Return how many bytes of robots.txt text fit into FetchCompleted next to its other fields."""
    texts = (*request.redirect_chain, *request.metadata.keys(), *request.metadata.values())
    singles = (request.url, url, request.origin, request.group, request.referrer, request.user_agent)
    taken = sum(len(text.encode()) + 4 for text in (*texts, *singles))
    return FETCHES_COMPLETED.max_bytes - taken - 2 * _RESERVED_BYTES


def _without_nul(text: str) -> str:
    """Remove NUL characters, which PostgreSQL cannot store."""
    return text.replace("\x00", "") if "\x00" in text else text


def build_crash_event(request: FetchRequested, message: str, *, trace: RequestTrace) -> FetchCompleted:
    """Build the end of a request that failed by a fault of our own, so that its lease ends too."""
    failed = FailedFetch(ErrorClass.INTERNAL, message)
    return interpret_result(request, failed, trace=trace, rules=RedirectRules()).completed
