"""Everything that two libraries, TLS and the system can raise, as one of our own classes.

The only place where they are told apart, before any rule about trying again sees them. A hook that
has refused something has said so in the request's notes, which come before whatever the library
made of it. What nobody expected is a fault of our own, never a fault of the site.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Final

from aiohttp import client_exceptions as client
from aiohttp import http_exceptions as wire

from strider.contracts.generated.enums import ErrorClass

from .httpx_types import InvalidURL, TransportError, UnsupportedProtocol

_RESET: Final = (errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED, errno.ENOTCONN, errno.ESHUTDOWN)
_UNREACHABLE: Final = (
    *(errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.ENETDOWN, errno.EHOSTDOWN),
    *(errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.EACCES, errno.EPERM, errno.EINVAL),
)
_LOCAL_RESOURCES: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

_CLASS_BY_ERRNO: Final[Mapping[int, ErrorClass]] = {
    errno.ECONNREFUSED: ErrorClass.CONNECT_REFUSED,
    errno.ETIMEDOUT: ErrorClass.CONNECT_TIMEOUT,
    **dict.fromkeys(_UNREACHABLE, ErrorClass.CONNECT_UNREACHABLE),
    **dict.fromkeys(_RESET, ErrorClass.CONNECTION_RESET),
    **dict.fromkeys(_LOCAL_RESOURCES, ErrorClass.INTERNAL),
}

_CERTIFICATE_EXPIRED: Final = frozenset({9, 10})
_CERTIFICATE_WRONG_NAME: Final = frozenset({62, 63, 64})
"""OpenSSL's numbers of what is wrong with a certificate: its time, its name; all others are trust."""

_FRAMING_PHRASES: Final = ("content-length", "transfer-encoding", "transfer encoding", "chunk")
_TOO_LARGE_PHRASES: Final = ("too many headers", "header count", "too many")

MAX_MESSAGE_CHARACTERS: Final = 300


class FetchFailure(TransportError):
    """A request that came to nothing, in our words."""

    def __init__(self, error_class: ErrorClass, message: str = "") -> None:
        super().__init__(f"{error_class}: {message}" if message else str(error_class))
        self.error_class = error_class
        self.message = message


class Phase(StrEnum):
    """How far a request had come."""

    CONNECTING = "connecting"
    HANDSHAKE = "handshake"
    ASKED = "asked"
    RESPONSE_STARTED = "answered"
    """The head is there."""


_Classifier = Callable[[BaseException, Phase], ErrorClass]

_TIMEOUT_BY_PHASE: Final = {
    Phase.CONNECTING: ErrorClass.CONNECT_TIMEOUT,
    Phase.HANDSHAKE: ErrorClass.TLS_TIMEOUT,
    Phase.ASKED: ErrorClass.HEAD_TIMEOUT,
    Phase.RESPONSE_STARTED: ErrorClass.BODY_TIMEOUT,
}


def failure_of(error: BaseException, phase: Phase = Phase.CONNECTING) -> FetchFailure:
    """Translate whatever was raised."""
    if isinstance(error, FetchFailure):
        return error
    for kinds, judge in _CLASSIFIERS:
        if isinstance(error, kinds):
            return FetchFailure(judge(error, phase), _words(error))
    return FetchFailure(ErrorClass.INTERNAL, _words(error))


def _certificate(error: BaseException, _phase: Phase) -> ErrorClass:
    code = getattr(getattr(error, "certificate_error", error), "verify_code", 0)
    if code in _CERTIFICATE_EXPIRED:
        return ErrorClass.TLS_EXPIRED
    return ErrorClass.TLS_WRONG_NAME if code in _CERTIFICATE_WRONG_NAME else ErrorClass.TLS_UNTRUSTED


def _tls_error(_error: BaseException, phase: Phase) -> ErrorClass:
    is_begun = phase in {Phase.ASKED, Phase.RESPONSE_STARTED}
    return ErrorClass.CONNECTION_RESET if is_begun else ErrorClass.TLS_FAILED


def _late(_error: BaseException, phase: Phase) -> ErrorClass:
    return _TIMEOUT_BY_PHASE[phase]


def _number(error: BaseException, _phase: Phase) -> ErrorClass:
    if _has_cause(error, ssl.SSLError):
        return ErrorClass.TLS_FAILED
    number = getattr(error, "errno", None)
    if number is None:
        # Several addresses that failed in several ways, or a handshake that ended in the middle.
        is_reset = any(isinstance(each, ConnectionError) for each in _causes(error))
        return ErrorClass.CONNECTION_RESET if is_reset else ErrorClass.CONNECT_UNREACHABLE
    return _CLASS_BY_ERRNO.get(number, ErrorClass.CONNECT_UNREACHABLE)


def _payload_error(error: BaseException, _phase: Phase) -> ErrorClass:
    if any(isinstance(each, OSError) for each in _causes(error)) or "reset" in str(error).lower():
        return ErrorClass.CONNECTION_RESET
    is_short = _has_cause(error, wire.ContentLengthError) or "Not enough data" in str(error)
    return ErrorClass.BODY_TRUNCATED if is_short else ErrorClass.BAD_FRAMING


def _head(error: BaseException, _phase: Phase) -> ErrorClass:
    text = _words(error).lower()
    if _has_cause(error, wire.LineTooLong) or any(word in text for word in _TOO_LARGE_PHRASES):
        return ErrorClass.HEAD_TOO_LARGE
    if _has_cause(error, wire.PayloadEncodingError) or any(word in text for word in _FRAMING_PHRASES):
        return ErrorClass.BAD_FRAMING
    return ErrorClass.BAD_STATUS_LINE if _has_cause(error, wire.BadStatusLine) else ErrorClass.BAD_HEADER


def _constant(found: ErrorClass) -> _Classifier:
    return lambda _error, _phase: found


_CLASSIFIERS: Final[tuple[tuple[tuple[type[BaseException], ...], _Classifier], ...]] = (
    ((client.ClientConnectorCertificateError, ssl.SSLCertVerificationError), _certificate),
    ((ssl.SSLError,), _tls_error),
    ((TimeoutError,), _late),
    ((client.ClientConnectorDNSError,), _constant(ErrorClass.DNS_FAILED)),
    ((client.ServerDisconnectedError,), _constant(ErrorClass.CONNECTION_CLOSED)),
    ((client.ClientPayloadError,), _payload_error),
    ((client.ClientResponseError, wire.HttpProcessingError), _head),
    ((client.InvalidURL, InvalidURL), _constant(ErrorClass.BAD_URL)),
    ((client.NonHttpUrlClientError, UnsupportedProtocol), _constant(ErrorClass.REFUSED_SCHEME)),
    ((OSError,), _number),
    # The library has no better word for a connection that went while it was used.
    ((client.ClientConnectionError,), _constant(ErrorClass.CONNECTION_CLOSED)),
)
"""From the particular to the general: the first that fits judges."""


def _has_cause(error: BaseException, kind: type[BaseException]) -> bool:
    return any(isinstance(each, kind) for each in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    each: BaseException | None = error
    for _ in range(8):
        if each is None:
            return
        yield each
        each = each.__cause__


def _words(error: BaseException) -> str:
    if isinstance(error, client.ClientResponseError | wire.HttpProcessingError):
        message = error.message
    else:
        message = _sentence(error)
    return " ".join((message or type(error).__name__).split())[:MAX_MESSAGE_CHARACTERS]


def _sentence(error: BaseException) -> str:
    """Say it without the library's objects, whose addresses make each message another one."""
    if isinstance(error, client.ServerDisconnectedError):
        is_begun = not isinstance(error.message, str)
        return f"the connection was closed {'within the head' if is_begun else 'without an answer'}"
    if isinstance(error, client.ClientPayloadError) and isinstance(error.__cause__, wire.HttpProcessingError):
        return error.__cause__.message
    if not isinstance(error, client.ClientConnectorError):
        return str(error)
    place = f"{error.host}:{error.port}"
    if isinstance(error, client.ClientConnectorCertificateError):
        return f"{place}: {error.certificate_error}"
    cause = error.os_error
    # The numbers of TLS and of name servers are others than the system's.
    number = 0 if isinstance(cause, ssl.SSLError | socket.gaierror) else cause.errno or 0
    return f"{place}: {os.strerror(number) if number > 0 else cause}"
