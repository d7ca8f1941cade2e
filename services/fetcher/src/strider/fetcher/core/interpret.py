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

from .answers import Answer, Failed, Head, Making
from .asking import has_validator
from .outcomes import NOT_MODIFIED, PARTIAL, outcome_of_error, outcome_of_status
from .reading import ROBOTS_BYTES, content_length, encodings
from .redirects import RedirectRules, is_redirect, redirect_of
from .retryafter import retry_after_seconds
from .robots import robots_text, wishes_of

MESSAGE_CHARACTERS: Final = 500
FIELD_CHARACTERS: Final = 1024
"""What is kept of one header where it stands in a field of its own."""

_ROOM_BYTES: Final = 4 * 1024
"""For what is small in an event: numbers, words, framing."""

_NO_ONE: Final = Head(0, http_version="")


@fast_dataclass(frozen=True, slots=True)
class Meaning:
    """What is to be said of a request."""

    completed: FetchCompleted
    page: PageFetched | None = None
    """With its body inline; whoever speaks puts a large one elsewhere."""


@fast_dataclass(frozen=True, slots=True)
class _Verdict:
    """An outcome in words."""

    outcome: FetchOutcome
    error: str = ""
    category: str = ""
    message: str = ""


def interpret(
    request: FetchRequested, came: Answer | Failed, *, made: Making, rules: RedirectRules
) -> Meaning:
    """Decide what came of a request."""
    told = _entry(request) | _told_of_head(came.head or _NO_ONE) | _told_of_making(made)
    digest = sha256(came.body).hexdigest() if isinstance(came, Answer) and came.body else ""
    verdict = _verdict(request, came)
    is_page = request.kind != RequestKind.ROBOTS and isinstance(came, Answer)
    has_page = is_page and verdict.outcome in {FetchOutcome.FETCHED, FetchOutcome.NOT_MODIFIED}
    completed = FetchCompleted(
        **told,
        outcome=verdict.outcome,
        error_class=verdict.error,
        error_category=verdict.category,
        error_message=_sayable(verdict.message)[:MESSAGE_CHARACTERS],
        completed_at_ms=made.completed_at_us // 1000,
        before_connect=made.is_before_connect,
        has_page=has_page,
        cookies_changed=made.cookies_changed,
        marked_at_us=made.marked_at_us,
        body_bytes=came.body_bytes,
        raw_hash=digest,
        truncated=isinstance(came, Answer) and came.is_cut,
        **_told_of_place(request, came, verdict=verdict, made=made, rules=rules),
    )
    if not has_page or not isinstance(came, Answer):
        return Meaning(completed)
    return Meaning(completed, _page(told, came, made=made, digest=digest, verdict=verdict))


def _verdict(request: FetchRequested, came: Answer | Failed) -> _Verdict:
    if isinstance(came, Failed):
        outcome, category = outcome_of_error(came.error)
        return _Verdict(outcome, came.error, category, came.message)
    head = came.head
    if head.status == NOT_MODIFIED and has_validator(request):
        return _Verdict(FetchOutcome.NOT_MODIFIED)
    if is_redirect(head):
        return _Verdict(FetchOutcome.REDIRECTED)
    outcome, error = outcome_of_status(head.status)
    if request.kind == RequestKind.ROBOTS and head.status == PARTIAL:
        # Every 2xx brings rules (RFC 9309, 2.3.1.1), and those that came bind.
        outcome = FetchOutcome.FETCHED
    if error is None:
        return _Verdict(outcome)
    return _Verdict(outcome, error, ErrorCategory.HTTP, f"status {head.status}")


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


def _told_of_head(head: Head) -> dict[str, Any]:
    field = head.field
    return {
        "status": head.status,
        "http_version": head.http_version,
        "content_type": field("content-type")[:FIELD_CHARACTERS],
        "content_length": content_length(head),
        "etag": _validator(field("etag")),
        "last_modified": _validator(field("last-modified")),
    }


def _validator(sent: str) -> str:
    """Keep what is asked with next time, or nothing: half of it matches nothing, and is no header either."""
    return sent if len(sent) <= FIELD_CHARACTERS else ""


def _told_of_making(made: Making) -> dict[str, Any]:
    return {
        "started_at_us": made.started_at_us,
        "worker_id": made.worker_id,
        "user_agent": made.user_agent,
        "remote_address": made.remote_address,
        "proxy": made.proxy,
        "connection_reused": made.is_reused,
        "tls_verified": made.is_tls_verified,
        "dns_us": made.dns_us,
        "connect_us": made.connect_us,
        "tls_us": made.tls_us,
        "ttfb_us": made.ttfb_us,
        "total_us": made.total_us,
    }


def _told_of_place(
    request: FetchRequested,
    came: Answer | Failed,
    *,
    verdict: _Verdict,
    made: Making,
    rules: RedirectRules,
) -> dict[str, Any]:
    """Tell what only some outcomes have: a target, a wish to be left alone, rules for robots."""
    told: dict[str, Any] = {}
    head = came.head
    if head is not None and (wishes := head.each("retry-after")):
        date, now_us = head.field("date"), made.completed_at_us
        # Of several the longest: to wait too long costs nobody anything.
        told["retry_after_seconds"] = max(
            retry_after_seconds(wish, date=date, now_us=now_us) for wish in wishes
        )
    if isinstance(came, Failed):
        # Whose fault it is hangs on whether it was still the site that was asked.
        return told | {"robots_hops": len(came.came_by)} if came.came_by else told
    url = came.url or request.url
    if verdict.outcome == FetchOutcome.REDIRECTED:
        came_by = (*request.redirect_chain, *came.came_by)
        hop = request.hop + len(came.came_by)
        redirect = redirect_of(came.head, url=url, came_by=came_by, hop=hop, rules=rules)
        told["redirect_target"] = redirect.target
        told["redirect_target_key"] = redirect.target_key
        told["redirect_refused"] = redirect.refused
    if request.kind == RequestKind.ROBOTS:
        told |= {"robots_url": url, "robots_hops": len(came.came_by)}
        if verdict.outcome == FetchOutcome.FETCHED:
            told |= _told_of_robots(came, url=url, made=made, room=_room(request, url))
    return told


def _told_of_robots(came: Answer, *, url: str, made: Making, room: int) -> dict[str, Any]:
    text, is_cut = robots_text(came, max_bytes=min(ROBOTS_BYTES, room))
    wishes = wishes_of(text, url=url, user_agent=made.user_agent, room_bytes=room - len(text.encode()))
    return {
        "robots_text": text,
        "robots_truncated": is_cut or came.head.status == PARTIAL,
        "crawl_delay_seconds": wishes.crawl_delay_seconds,
        "sitemap_urls": wishes.sitemaps,
    }


def _page(
    told: dict[str, Any], answer: Answer, *, made: Making, digest: str, verdict: _Verdict
) -> PageFetched:
    head = answer.head
    return PageFetched(
        **told,
        fetched_at_ms=made.completed_at_us // 1000,
        header_names=head.names,
        header_values=tuple(map(_sayable, head.values)),
        content_encoding=", ".join(encodings(head)),
        body=answer.body,
        body_bytes=answer.body_bytes,
        body_sha256=digest,
        truncated=answer.is_cut,
        not_modified=verdict.outcome == FetchOutcome.NOT_MODIFIED,
    )


def page_room(page: PageFetched, *, max_bytes: int) -> int:
    """Say how many bytes of body fit into the event, next to all else that it carries."""
    texts = (*page.header_names, *page.header_values, *page.redirect_chain)
    pairs = (*page.metadata.keys(), *page.metadata.values())
    singles = (page.url, page.origin, page.group, page.referrer, page.user_agent, page.content_type)
    taken = sum(len(text.encode()) + 4 for text in (*texts, *pairs, *singles))
    return max_bytes - taken - _ROOM_BYTES


def _room(request: FetchRequested, url: str) -> int:
    """Say how many bytes of text fit into the end of a request."""
    texts = (*request.redirect_chain, *request.metadata.keys(), *request.metadata.values())
    singles = (request.url, url, request.origin, request.group, request.referrer, request.user_agent)
    taken = sum(len(text.encode()) + 4 for text in (*texts, *singles))
    return FETCHES_COMPLETED.max_bytes - taken - 2 * _ROOM_BYTES


def _sayable(text: str) -> str:
    """Leave out what no reader of the event could store."""
    return text.replace("\x00", "") if "\x00" in text else text


def crash_of(request: FetchRequested, message: str, *, made: Making) -> FetchCompleted:
    """Say that a fault of our own ended a request, so that its lease ends too."""
    failed = Failed(ErrorClass.INTERNAL, message)
    return interpret(request, failed, made=made, rules=RedirectRules()).completed
