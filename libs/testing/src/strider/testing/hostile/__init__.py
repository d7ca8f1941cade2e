"""A server that misbehaves differently on each path, and the outcomes that must follow."""

from .cases import ACCEPTED_CASES, DEADLINE_MS, FAILING_CASES, LIMIT_BYTES
from .server import (
    CHUNKED,
    PAGE,
    UNTIL_CLOSE,
    HostileServer,
    Reader,
    ResponseScript,
    Writer,
    http_response,
    redirect_response,
    reset_connection,
    sends,
    sends_forever,
    sends_nothing,
    sends_then_resets,
    serve_hostile,
)

__all__ = [
    "ACCEPTED_CASES",
    "CHUNKED",
    "DEADLINE_MS",
    "FAILING_CASES",
    "LIMIT_BYTES",
    "PAGE",
    "UNTIL_CLOSE",
    "HostileServer",
    "Reader",
    "ResponseScript",
    "Writer",
    "http_response",
    "redirect_response",
    "reset_connection",
    "sends",
    "sends_forever",
    "sends_nothing",
    "sends_then_resets",
    "serve_hostile",
]
