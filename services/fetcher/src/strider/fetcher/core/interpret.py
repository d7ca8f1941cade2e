"""What does this one answer mean?

Takes the request, what came back and how it was made; returns the two events that are spoken about
it: the page, where there is one, and how the request ended. What happens next (another try, a
redirect's target, a pause for the host) is the scheduler's decision, made from the words chosen here.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import ErrorCategory, ErrorClass, FetchOutcome, RequestKind
from strider.contracts.generated.events import FetchCompleted, FetchRequested, PageFetched
from strider.contracts.generated.topics import FETCHES_COMPLETED

from .body_limits import MAX_ROBOTS_BYTES, content_encodings, content_length
from .outcome_mapping import NOT_MODIFIED, STATUS_PARTIAL_CONTENT, outcome_of_error, outcome_of_status
from .redirects import RedirectRules, is_redirect, resolve_redirect
from .request_headers import is_conditional
from .response_models import FailedFetch, FetchedResponse, RequestTrace, ResponseHead
from .retry_after import retry_after_seconds
from .robots_body import read_robots_directives, robots_text

MAX_MESSAGE_CHARACTERS: Final = 500
MAX_FIELD_CHARACTERS: Final = 1024
"""What is kept of one header where it stands in a field of its own."""

_RESERVED_BYTES: Final = 4 * 1024
"""For what is small in an event: numbers, words, framing."""

_NO_HEAD: Final = ResponseHead(0, http_version="")


@fast_dataclass(frozen=True, slots=True)
class FetchEvents:
    """What is to be said of a request."""

    completed: FetchCompleted
    page: PageFetched | None = None
    """With its body inline; whoever speaks puts a large one elsewhere."""


@fast_dataclass(frozen=True, slots=True)
class _Outcome:
    """An outcome in words."""

    outcome: FetchOutcome
    error: str = ""
    category: str = ""
    message: str = ""


def interpret_result(
    request: FetchRequested,
    result: FetchedResponse | FailedFetch,
    *,
    trace: RequestTrace,
    rules: RedirectRules,
) -> FetchEvents:
    """Decide what came of a request."""
    told = _entry(request) | _head_fields(result.head or _NO_HEAD) | _trace_fields(trace)
    digest = sha256(result.body).hexdigest() if isinstance(result, FetchedResponse) and result.body else ""
    verdict = _decide_outcome(request, result)
    is_page = request.kind != RequestKind.ROBOTS and isinstance(result, FetchedResponse)
    has_page = is_page and verdict.outcome in {FetchOutcome.FETCHED, FetchOutcome.NOT_MODIFIED}
    completed = FetchCompleted(
        **told,
        outcome=verdict.outcome,
        error_class=verdict.error,
        error_category=verdict.category,
        error_message=_without_nul(verdict.message)[:MAX_MESSAGE_CHARACTERS],
        completed_at_ms=trace.completed_at_us // 1000,
        before_connect=trace.is_before_connect,
        has_page=has_page,
        cookies_changed=trace.cookies_changed,
        marked_at_us=trace.marked_at_us,
        body_bytes=result.body_bytes,
        raw_hash=digest,
        truncated=isinstance(result, FetchedResponse) and result.is_cut,
        **_conditional_fields(request, result, verdict=verdict, made=trace, rules=rules),
    )
    if not has_page or not isinstance(result, FetchedResponse):
        return FetchEvents(completed)
    return FetchEvents(completed, _page(told, result, made=trace, digest=digest, verdict=verdict))


def _decide_outcome(request: FetchRequested, came: FetchedResponse | FailedFetch) -> _Outcome:
    if isinstance(came, FailedFetch):
        outcome, category = outcome_of_error(came.error_class)
        return _Outcome(outcome, came.error_class, category, came.message)
    head = came.head
    if head.status == NOT_MODIFIED and is_conditional(request):
        return _Outcome(FetchOutcome.NOT_MODIFIED)
    if is_redirect(head):
        return _Outcome(FetchOutcome.REDIRECTED)
    outcome, error = outcome_of_status(head.status)
    if request.kind == RequestKind.ROBOTS and head.status == STATUS_PARTIAL_CONTENT:
        # Every 2xx brings rules (RFC 9309, 2.3.1.1), and those that came bind.
        outcome = FetchOutcome.FETCHED
    if error is None:
        return _Outcome(outcome)
    return _Outcome(outcome, error, ErrorCategory.HTTP, f"status {head.status}")


def _entry(request: FetchRequested) -> dict[str, Any]:
    """Give what every event of the entry carries on."""
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


def _validator_or_empty(sent: str) -> str:
    """Keep what is asked with next time, or nothing: half of it matches nothing, and is no header either."""
    return sent if len(sent) <= MAX_FIELD_CHARACTERS else ""


def _trace_fields(made: RequestTrace) -> dict[str, Any]:
    return {
        "started_at_us": made.started_at_us,
        "worker_id": made.worker_id,
        "user_agent": made.user_agent,
        "remote_address": made.remote_address,
        "proxy": made.proxy,
        "connection_reused": made.is_connection_reused,
        "tls_verified": made.is_tls_verified,
        "dns_us": made.dns_us,
        "connect_us": made.connect_us,
        "tls_us": made.tls_us,
        "ttfb_us": made.ttfb_us,
        "total_us": made.total_us,
    }


def _conditional_fields(
    request: FetchRequested,
    came: FetchedResponse | FailedFetch,
    *,
    verdict: _Outcome,
    made: RequestTrace,
    rules: RedirectRules,
) -> dict[str, Any]:
    """Tell what only some outcomes have: a target, a wish to be left alone, rules for robots."""
    told: dict[str, Any] = {}
    head = came.head
    if head is not None and (wishes := head.get_all("retry-after")):
        date, now_us = head.get("date"), made.completed_at_us
        # Of several the longest: to wait too long costs nobody anything.
        told["retry_after_seconds"] = max(
            retry_after_seconds(wish, date=date, now_us=now_us) for wish in wishes
        )
    if isinstance(came, FailedFetch):
        # Whose fault it is hangs on whether it was still the site that was asked.
        return told | {"robots_hops": len(came.redirect_chain)} if came.redirect_chain else told
    url = came.final_url or request.url
    if verdict.outcome == FetchOutcome.REDIRECTED:
        redirect_chain = (*request.redirect_chain, *came.redirect_chain)
        hop = request.hop + len(came.redirect_chain)
        redirect = resolve_redirect(came.head, url=url, redirect_chain=redirect_chain, hop=hop, rules=rules)
        told["redirect_target"] = redirect.target
        told["redirect_target_key"] = redirect.target_key
        told["redirect_refused"] = redirect.refusal
    if request.kind == RequestKind.ROBOTS:
        told |= {"robots_url": url, "robots_hops": len(came.redirect_chain)}
        if verdict.outcome == FetchOutcome.FETCHED:
            told |= _robots_fields(came, url=url, made=made, room=_room(request, url))
    return told


def _robots_fields(came: FetchedResponse, *, url: str, made: RequestTrace, room: int) -> dict[str, Any]:
    text, is_cut = robots_text(came, max_bytes=min(MAX_ROBOTS_BYTES, room))
    wishes = read_robots_directives(
        text, url=url, user_agent=made.user_agent, room_bytes=room - len(text.encode())
    )
    return {
        "robots_text": text,
        "robots_truncated": is_cut or came.head.status == STATUS_PARTIAL_CONTENT,
        "crawl_delay_seconds": wishes.crawl_delay_seconds,
        "sitemap_urls": wishes.sitemaps,
    }


def _page(
    told: dict[str, Any], answer: FetchedResponse, *, made: RequestTrace, digest: str, verdict: _Outcome
) -> PageFetched:
    head = answer.head
    return PageFetched(
        **told,
        fetched_at_ms=made.completed_at_us // 1000,
        header_names=head.header_names,
        header_values=tuple(map(_without_nul, head.header_values)),
        content_encoding=", ".join(content_encodings(head)),
        body=answer.body,
        body_bytes=answer.body_bytes,
        body_sha256=digest,
        truncated=answer.is_cut,
        not_modified=verdict.outcome == FetchOutcome.NOT_MODIFIED,
    )


def max_inline_body_bytes(page: PageFetched, *, max_bytes: int) -> int:
    """Say how many bytes of body fit into the event, next to all else that it carries."""
    texts = (*page.header_names, *page.header_values, *page.redirect_chain)
    pairs = (*page.metadata.keys(), *page.metadata.values())
    singles = (page.url, page.origin, page.group, page.referrer, page.user_agent, page.content_type)
    taken = sum(len(text.encode()) + 4 for text in (*texts, *pairs, *singles))
    return max_bytes - taken - _RESERVED_BYTES


def _room(request: FetchRequested, url: str) -> int:
    """Say how many bytes of text fit into the end of a request."""
    texts = (*request.redirect_chain, *request.metadata.keys(), *request.metadata.values())
    singles = (request.url, url, request.origin, request.group, request.referrer, request.user_agent)
    taken = sum(len(text.encode()) + 4 for text in (*texts, *singles))
    return FETCHES_COMPLETED.max_bytes - taken - 2 * _RESERVED_BYTES


def _without_nul(text: str) -> str:
    """Leave out what no reader of the event could store."""
    return text.replace("\x00", "") if "\x00" in text else text


def build_crash_event(request: FetchRequested, message: str, *, trace: RequestTrace) -> FetchCompleted:
    """Say that a fault of our own ended a request, so that its lease ends too."""
    failed = FailedFetch(ErrorClass.INTERNAL, message)
    return interpret_result(request, failed, trace=trace, rules=RedirectRules()).completed
