"""Result of a fetch, as one JSON object and as lines for people.

The fields are stable: scripts rely on them (docs/operations/fetcher.md lists them). Adds to the fetcher's
result which limit was hit, and the size of the decoded body, decoded by the code of the parser.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from strider.contracts.generated.enums import ErrorClass, FetchOutcome
from strider.contracts.generated.events import FetchCompleted
from strider.fetcher.adapters.http import protocol as listening
from strider.fetcher.adapters.http.deadlines import MAX_START_SECONDS
from strider.fetcher.core.body_limits import MAX_ENCODINGS, content_encodings
from strider.fetcher.settings import FetcherSettings
from strider.parser.adapters.content_encoding import unpack
from strider.parser.adapters.decompression import BOMB_RATIO
from strider.parser.core import ParseLimits
from strider.parser.core.unreadable_pages import ParseFailure

from .client import FetchAttempt, FetchOptions
from .robots_client import PRIVATE_ADDRESS_HINT

SUCCESS_OUTCOMES: Final = frozenset({FetchOutcome.FETCHED, FetchOutcome.NOT_MODIFIED})

_HEAD_LIMIT: Final = (
    f"head {listening.MAX_HEAD_BYTES} bytes, line {listening.MAX_LINE_BYTES} bytes, "
    f"{listening.MAX_HEADERS} fields"
)


def fetch_report(
    text: str, attempts: Sequence[FetchAttempt], *, options: FetchOptions, settings: FetcherSettings
) -> dict[str, Any]:
    """Return everything about a fetch and the redirects before it."""
    last, completed = attempts[-1], attempts[-1].completed
    decoded = _decoded(last)
    return {
        "url": text,
        "final_url": completed.url,
        "outcome": completed.outcome,
        "reason": completed.error_class or completed.redirect_refused,
        "category": completed.error_category,
        "message": completed.error_message,
        "status": completed.status,
        "http_version": completed.http_version,
        "redirect_target": completed.redirect_target,
        "redirect_refused": completed.redirect_refused,
        "chain": [_hop(attempt) for attempt in attempts],
        "limits": [*_limits_hit(completed.error_class, options, settings), *decoded["limits"]],
        "timings_ms": _timings_ms(completed),
        "before_connect": completed.before_connect,
        "remote_address": completed.remote_address,
        "proxy": completed.proxy,
        "connection_reused": completed.connection_reused,
        "tls_verified": completed.tls_verified,
        "user_agent": completed.user_agent,
        "headers": [list(pair) for pair in zip(last.head.header_names, last.head.header_values, strict=True)],
        "content_type": completed.content_type,
        "content_encoding": ", ".join(content_encodings(last.head)),
        "content_length": completed.content_length,
        "body_bytes": completed.body_bytes,
        "body_sha256": completed.raw_hash,
        "decoded_bytes": decoded["bytes"],
        "decode_outcome": decoded["outcome"],
        "truncated": completed.truncated,
        "etag": completed.etag,
        "last_modified": completed.last_modified,
        "retry_after_seconds": completed.retry_after_seconds,
        "completed_at_ms": completed.completed_at_ms,
    }


def _timings_ms(completed: FetchCompleted) -> dict[str, float]:
    names = ("dns", "connect", "tls", "ttfb", "total")
    return {name: round(getattr(completed, f"{name}_us") / 1000, 3) for name in names}


def report_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Return the most important fields as lines for people."""
    reason = f" ({report['reason']})" if report["reason"] else ""
    status = f"  {report['status']}" if report["status"] else ""
    yield f"{report['outcome']}{reason}{status}  {report['final_url']}"
    if report["message"]:
        yield f"  reason    {report['message']}"
    if report["message"].endswith("private address"):
        yield f"            {PRIVATE_ADDRESS_HINT}"
    for hop in report["chain"][:-1]:
        yield f"  via       {hop['status']} {hop['url']} -> {hop['redirect_target']}"
    if report["redirect_target"]:
        refused = f"  (not followed: {report['redirect_refused']})" if report["redirect_refused"] else ""
        yield f"  redirect  {report['redirect_target']}{refused}"
    for limit in report["limits"]:
        yield f"  limit     {limit}"
    yield "  timings   " + "  ".join(f"{name} {value:g} ms" for name, value in report["timings_ms"].items())
    if report["remote_address"]:
        verified = "" if report["tls_verified"] else "  certificate not verified"
        yield f"  address   {report['remote_address']}{verified}"
    if report["body_bytes"]:
        decoded = f", {report['decoded_bytes']} decoded" if report["content_encoding"] else ""
        truncated = " (truncated)" if report["truncated"] else ""
        yield f"  body      {report['body_bytes']} bytes{decoded}{truncated}"
    for name, value in report["headers"]:
        yield f"  {name}: {value}"


def _hop(attempt: FetchAttempt) -> dict[str, Any]:
    completed = attempt.completed
    return {
        "url": completed.url,
        "outcome": completed.outcome,
        "status": completed.status,
        "redirect_target": completed.redirect_target,
        "remote_address": completed.remote_address,
        "total_ms": round(completed.total_us / 1000, 3),
    }


def _decoded(attempt: FetchAttempt) -> dict[str, Any]:
    """Decode the content encodings of a body, as the parser does."""
    if attempt.completed.outcome != FetchOutcome.FETCHED:
        return {"bytes": 0, "outcome": "", "limits": []}
    most = ParseLimits().max_decoded_bytes
    found = unpack(attempt.body, ", ".join(content_encodings(attempt.head)), most)
    if isinstance(found, ParseFailure):
        limit = f"decoded body {most} bytes, {BOMB_RATIO} times the received bytes after 1 MiB"
        return {"bytes": 0, "outcome": found.outcome, "limits": [limit]}
    return {"bytes": len(found.content), "outcome": "decoded", "limits": []}


def _limits_hit(error: str, options: FetchOptions, settings: FetcherSettings) -> list[str]:
    """Return the limit that a failure has hit, with its value."""
    deadline = min(options.deadline_seconds, settings.max_deadline_seconds)
    connect = min(settings.connect_timeout_seconds, MAX_START_SECONDS)
    limits = {
        ErrorClass.BODY_TOO_LARGE: f"body {options.max_body_bytes} bytes",
        ErrorClass.TOO_SLOW: f"body {settings.min_bytes_per_second} bytes a second",
        ErrorClass.BODY_TIMEOUT: f"no byte for {settings.slow_body_seconds:g} s, deadline {deadline:g} s",
        ErrorClass.HEAD_TIMEOUT: f"deadline {deadline:g} s",
        ErrorClass.TOTAL_TIMEOUT: f"deadline {deadline:g} s",
        ErrorClass.CONNECT_TIMEOUT: f"connection within {connect:g} s",
        ErrorClass.TLS_TIMEOUT: f"connection within {connect:g} s",
        ErrorClass.DNS_TIMEOUT: f"DNS answer within {settings.dns_timeout_seconds:g} s",
        ErrorClass.HEAD_TOO_LARGE: _HEAD_LIMIT,
        ErrorClass.TOO_MANY_INFORMATIONAL: f"{listening.MAX_INFORMATIONAL_RESPONSES} responses of status 1xx",
        ErrorClass.TOO_MANY_ENCODINGS: f"{MAX_ENCODINGS} encodings",
    }
    return [limits[ErrorClass(error)]] if error in limits else []
