"""What came of a fetch, as one JSON object or as lines for people.

The fields are stable: scripts go by them (docs/operations/fetcher.md lists them). Adds to what the
fetcher says which limit bit, and what the body is once its encodings are undone, by the code that
the parser undoes them with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from strider.contracts.generated.enums import ErrorClass, FetchOutcome
from strider.fetcher.adapters.http import protocol as listening
from strider.fetcher.adapters.http.deadlines import MAX_START_SECONDS
from strider.fetcher.core.body_limits import MAX_ENCODINGS, content_encodings
from strider.fetcher.settings import FetcherSettings
from strider.parser.adapters.content_encoding import unpack
from strider.parser.adapters.decompression import BOMB_RATIO
from strider.parser.core import ParseLimits
from strider.parser.core.unreadable_pages import ParseFailure

from .fetching import Attempt, Wanted
from .robots_report import ONLY_PRIVATELY

GOOD: Final = frozenset({FetchOutcome.FETCHED, FetchOutcome.NOT_MODIFIED})

_HEAD_LIMIT: Final = (
    f"head {listening.MAX_HEAD_BYTES} bytes, line {listening.MAX_LINE_BYTES} bytes, "
    f"{listening.MAX_HEADERS} fields"
)


def object_of(
    text: str, attempts: Sequence[Attempt], *, wanted: Wanted, settings: FetcherSettings
) -> dict[str, Any]:
    """Tell everything that is known of a fetch and the redirects before it."""
    last = attempts[-1]
    told = last.told
    decoded = _decoded(last)
    return {
        "url": text,
        "final_url": told.url,
        "outcome": told.outcome,
        "reason": told.error_class or told.redirect_refused,
        "category": told.error_category,
        "message": told.error_message,
        "status": told.status,
        "http_version": told.http_version,
        "redirect_target": told.redirect_target,
        "redirect_refused": told.redirect_refused,
        "chain": [_hop(attempt) for attempt in attempts],
        "limits": [*_limits(told.error_class, wanted, settings), *decoded["limits"]],
        "timings_ms": {
            name: round(getattr(told, f"{name}_us") / 1000, 3)
            for name in ("dns", "connect", "tls", "ttfb", "total")
        },
        "before_connect": told.before_connect,
        "remote_address": told.remote_address,
        "proxy": told.proxy,
        "connection_reused": told.connection_reused,
        "tls_verified": told.tls_verified,
        "user_agent": told.user_agent,
        "headers": [list(pair) for pair in zip(last.head.header_names, last.head.header_values, strict=True)],
        "content_type": told.content_type,
        "content_encoding": ", ".join(content_encodings(last.head)),
        "content_length": told.content_length,
        "body_bytes": told.body_bytes,
        "body_sha256": told.raw_hash,
        "decoded_bytes": decoded["bytes"],
        "decode_outcome": decoded["outcome"],
        "truncated": told.truncated,
        "etag": told.etag,
        "last_modified": told.last_modified,
        "retry_after_seconds": told.retry_after_seconds,
        "completed_at_ms": told.completed_at_ms,
    }


def lines_of(told: Mapping[str, Any]) -> Iterator[str]:
    """Tell the same to people, the most important first."""
    reason = f" ({told['reason']})" if told["reason"] else ""
    status = f"  {told['status']}" if told["status"] else ""
    yield f"{told['outcome']}{reason}{status}  {told['final_url']}"
    if told["message"]:
        yield f"  why       {told['message']}"
    if told["message"].endswith("private address"):
        yield f"            {ONLY_PRIVATELY}"
    for hop in told["chain"][:-1]:
        yield f"  by way of {hop['status']} {hop['url']} -> {hop['redirect_target']}"
    if told["redirect_target"]:
        refused = f"  (not asked: {told['redirect_refused']})" if told["redirect_refused"] else ""
        yield f"  leads to  {told['redirect_target']}{refused}"
    for limit in told["limits"]:
        yield f"  limit     {limit}"
    yield "  timings   " + "  ".join(f"{name} {value:g} ms" for name, value in told["timings_ms"].items())
    if told["remote_address"]:
        verified = "" if told["tls_verified"] else "  certificate not verified"
        yield f"  address   {told['remote_address']}{verified}"
    if told["body_bytes"]:
        decoded = f", {told['decoded_bytes']} decoded" if told["content_encoding"] else ""
        yield f"  body      {told['body_bytes']} bytes{decoded}{' (cut)' if told['truncated'] else ''}"
    for name, value in told["headers"]:
        yield f"  {name}: {value}"


def _hop(attempt: Attempt) -> dict[str, Any]:
    told = attempt.told
    return {
        "url": told.url,
        "outcome": told.outcome,
        "status": told.status,
        "redirect_target": told.redirect_target,
        "remote_address": told.remote_address,
        "total_ms": round(told.total_us / 1000, 3),
    }


def _decoded(attempt: Attempt) -> dict[str, Any]:
    """Undo the encodings of a body as the parser will."""
    if attempt.told.outcome != FetchOutcome.FETCHED:
        return {"bytes": 0, "outcome": "", "limits": []}
    most = ParseLimits().max_decoded_bytes
    found = unpack(attempt.body, ", ".join(content_encodings(attempt.head)), most)
    if isinstance(found, ParseFailure):
        limit = f"decoded body {most} bytes, {BOMB_RATIO} times what was sent after 1 MiB"
        return {"bytes": 0, "outcome": found.outcome, "limits": [limit]}
    return {"bytes": len(found.content), "outcome": "decoded", "limits": []}


def _limits(error: str, wanted: Wanted, settings: FetcherSettings) -> list[str]:
    """Name the limit that a failure hangs on."""
    deadline = min(wanted.deadline_seconds, settings.max_deadline_seconds)
    connect = min(settings.connect_timeout_seconds, MAX_START_SECONDS)
    limits = {
        ErrorClass.BODY_TOO_LARGE: f"body {wanted.max_body_bytes} bytes",
        ErrorClass.TOO_SLOW: f"body {settings.min_bytes_per_second} bytes a second",
        ErrorClass.BODY_TIMEOUT: f"no byte for {settings.slow_body_seconds:g} s, deadline {deadline:g} s",
        ErrorClass.HEAD_TIMEOUT: f"deadline {deadline:g} s",
        ErrorClass.TOTAL_TIMEOUT: f"deadline {deadline:g} s",
        ErrorClass.CONNECT_TIMEOUT: f"connection within {connect:g} s",
        ErrorClass.TLS_TIMEOUT: f"connection within {connect:g} s",
        ErrorClass.DNS_TIMEOUT: f"name within {settings.dns_timeout_seconds:g} s",
        ErrorClass.HEAD_TOO_LARGE: _HEAD_LIMIT,
        ErrorClass.TOO_MANY_INFORMATIONAL: f"{listening.MAX_INFORMATIONAL_RESPONSES} answers of 1xx",
        ErrorClass.TOO_MANY_ENCODINGS: f"{MAX_ENCODINGS} encodings",
    }
    return [limits[ErrorClass(error)]] if error in limits else []
