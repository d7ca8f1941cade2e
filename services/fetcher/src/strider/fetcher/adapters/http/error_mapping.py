"""Exceptions of aiohttp, TLS and the system, mapped to FetchFailure with an error class.

The only place that tells them apart, before any retry rule sees them. A failure that a hook has recorded in
the request's timeline comes before the exception that the library made of it. An unknown exception is a fault
of our own, never of the site. Error classes become outcomes in `core.outcome_mapping`.
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
    **dict.fromkeys(_LOCAL_RESOURCES, ErrorClass.OFFLINE),
}

_CERTIFICATE_EXPIRED: Final = frozenset({9, 10})
_CERTIFICATE_WRONG_NAME: Final = frozenset({62, 63, 64})
"""OpenSSL's verify codes for an expired certificate and a wrong name; all others mean an untrusted one."""

_FRAMING_PHRASES: Final = ("content-length", "transfer-encoding", "transfer encoding", "chunk")
_TOO_LARGE_PHRASES: Final = ("too many headers", "header count", "too many")

MAX_MESSAGE_CHARACTERS: Final = 300


class FetchFailure(Exception):
    """A failed request: an error class and a message for people."""

    def __init__(self, error_class: ErrorClass, message: str = "") -> None:
        super().__init__(f"{error_class}: {message}" if message else str(error_class))
        self.error_class = error_class
        self.message = message


class RequestPhase(StrEnum):
    """Progress of a request."""

    CONNECTING = "connecting"
    HANDSHAKE = "handshake"
    REQUEST_SENT = "asked"
    RESPONSE_STARTED = "answered"
    """The response's head was received."""


_Classifier = Callable[[BaseException, RequestPhase], ErrorClass]

_TIMEOUT_BY_PHASE: Final = {
    RequestPhase.CONNECTING: ErrorClass.CONNECT_TIMEOUT,
    RequestPhase.HANDSHAKE: ErrorClass.TLS_TIMEOUT,
    RequestPhase.REQUEST_SENT: ErrorClass.HEAD_TIMEOUT,
    RequestPhase.RESPONSE_STARTED: ErrorClass.BODY_TIMEOUT,
}


def _certificate_error(error: BaseException, _phase: RequestPhase) -> ErrorClass:
    code = getattr(getattr(error, "certificate_error", error), "verify_code", 0)
    if code in _CERTIFICATE_EXPIRED:
        return ErrorClass.TLS_EXPIRED
    return ErrorClass.TLS_WRONG_NAME if code in _CERTIFICATE_WRONG_NAME else ErrorClass.TLS_UNTRUSTED


def _tls_error(_error: BaseException, phase: RequestPhase) -> ErrorClass:
    is_begun = phase in {RequestPhase.REQUEST_SENT, RequestPhase.RESPONSE_STARTED}
    return ErrorClass.CONNECTION_RESET if is_begun else ErrorClass.TLS_FAILED


def _timeout_error(_error: BaseException, phase: RequestPhase) -> ErrorClass:
    return _TIMEOUT_BY_PHASE[phase]


def _os_error(error: BaseException, _phase: RequestPhase) -> ErrorClass:
    if _has_cause(error, ssl.SSLError):
        return ErrorClass.TLS_FAILED
    number = getattr(error, "errno", None)
    if number is None:
        # Several addresses that failed in different ways, or an interrupted handshake.
        is_reset = any(isinstance(cause, ConnectionError) for cause in _causes(error))
        return ErrorClass.CONNECTION_RESET if is_reset else ErrorClass.CONNECT_UNREACHABLE
    return _CLASS_BY_ERRNO.get(number, ErrorClass.CONNECT_UNREACHABLE)


def _payload_error(error: BaseException, _phase: RequestPhase) -> ErrorClass:
    if any(isinstance(cause, OSError) for cause in _causes(error)) or "reset" in str(error).lower():
        return ErrorClass.CONNECTION_RESET
    is_short = _has_cause(error, wire.ContentLengthError) or "Not enough data" in str(error)
    return ErrorClass.BODY_TRUNCATED if is_short else ErrorClass.BAD_FRAMING


def _head_error(error: BaseException, _phase: RequestPhase) -> ErrorClass:
    text = _message(error).lower()
    if _has_cause(error, wire.LineTooLong) or any(phrase in text for phrase in _TOO_LARGE_PHRASES):
        return ErrorClass.HEAD_TOO_LARGE
    if _has_cause(error, wire.PayloadEncodingError) or any(phrase in text for phrase in _FRAMING_PHRASES):
        return ErrorClass.BAD_FRAMING
    return ErrorClass.BAD_STATUS_LINE if _has_cause(error, wire.BadStatusLine) else ErrorClass.BAD_HEADER


def _constant(error_class: ErrorClass) -> _Classifier:
    return lambda _error, _phase: error_class


_CLASSIFIERS: Final[tuple[tuple[tuple[type[BaseException], ...], _Classifier], ...]] = (
    ((client.ClientConnectorCertificateError, ssl.SSLCertVerificationError), _certificate_error),
    ((ssl.SSLError,), _tls_error),
    ((TimeoutError,), _timeout_error),
    ((client.ClientConnectorDNSError,), _constant(ErrorClass.DNS_FAILED)),
    ((client.ServerDisconnectedError,), _constant(ErrorClass.CONNECTION_CLOSED)),
    ((client.ClientPayloadError,), _payload_error),
    ((client.ClientResponseError, wire.HttpProcessingError), _head_error),
    ((client.InvalidURL,), _constant(ErrorClass.BAD_URL)),
    ((client.NonHttpUrlClientError,), _constant(ErrorClass.REFUSED_SCHEME)),
    ((OSError,), _os_error),
    # aiohttp has no more specific class for a connection that was lost while in use.
    ((client.ClientConnectionError,), _constant(ErrorClass.CONNECTION_CLOSED)),
)
"""From the most specific class to the most general; the first match decides."""


def map_exception(error: BaseException, phase: RequestPhase = RequestPhase.CONNECTING) -> FetchFailure:
    """Map an exception to a FetchFailure; the phase decides what a timeout means."""
    if isinstance(error, FetchFailure):
        return error
    for kinds, classify in _CLASSIFIERS:
        if isinstance(error, kinds):
            return FetchFailure(classify(error, phase), _message(error))
    return FetchFailure(ErrorClass.INTERNAL, _message(error))


def local_failure(error: BaseException, family: int) -> FetchFailure | None:
    """Return the failure if this machine has no file, memory or port left for a connection; else None.

    `family` is that of the address. An IPv6 address that cannot be assigned mostly means that this machine
    has none, which is no shortage.
    """
    for cause in _causes(error):
        number = getattr(cause, "errno", None)
        if number in _LOCAL_RESOURCES or (number == errno.EADDRNOTAVAIL and family == socket.AF_INET):
            why = "no local port is left" if number == errno.EADDRNOTAVAIL else os.strerror(number or 0)
            return FetchFailure(ErrorClass.OFFLINE, f"no connection can be made from here: {why}")
    return None


def _has_cause(error: BaseException, kind: type[BaseException]) -> bool:
    return any(isinstance(cause, kind) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(8):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__


def _message(error: BaseException) -> str:
    if isinstance(error, client.ClientResponseError | wire.HttpProcessingError):
        message = error.message
    else:
        message = _message_without_objects(error)
    return " ".join((message or type(error).__name__).split())[:MAX_MESSAGE_CHARACTERS]


def _message_without_objects(error: BaseException) -> str:
    """Return the message without object addresses, which would make each message unique."""
    if isinstance(error, client.ServerDisconnectedError):
        is_begun = not isinstance(error.message, str)
        return f"the connection was closed {'within the head' if is_begun else 'without a response'}"
    if isinstance(error, client.ClientPayloadError) and isinstance(error.__cause__, wire.HttpProcessingError):
        return error.__cause__.message
    if not isinstance(error, client.ClientConnectorError):
        return str(error)
    endpoint = f"{error.host}:{error.port}"
    if isinstance(error, client.ClientConnectorCertificateError):
        return f"{endpoint}: {error.certificate_error}"
    cause = error.os_error
    # Errnos of TLS and of name resolution are not the system's.
    number = 0 if isinstance(cause, ssl.SSLError | socket.gaierror) else cause.errno or 0
    return f"{endpoint}: {os.strerror(number) if number > 0 else cause}"
