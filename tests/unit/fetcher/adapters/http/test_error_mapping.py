"""Exceptions of libraries and the system, mapped to error classes."""

from __future__ import annotations

import errno
import ssl

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.http_exceptions import BadStatusLine, ContentLengthError, InvalidHeader, LineTooLong

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.adapters import FetchFailure
from strider.fetcher.adapters.http.error_mapping import RequestPhase, map_exception

PLACE = ConnectionKey("a.test", 443, True, True, None, None, None, None)


def _refused(number: int | None) -> aiohttp.ClientConnectorError:
    return aiohttp.ClientConnectorError(PLACE, OSError(number, "x") if number else OSError("several"))


def _certificate(code: int) -> aiohttp.ClientConnectorCertificateError:
    error = ssl.SSLCertVerificationError(1, "no")
    error.verify_code = code
    return aiohttp.ClientConnectorCertificateError(PLACE, error)


def _caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "phase", "found"),
    [
        pytest.param(_refused(errno.ECONNREFUSED), RequestPhase.CONNECTING, "connect_refused", id="refused"),
        pytest.param(
            _refused(errno.EHOSTUNREACH), RequestPhase.CONNECTING, "connect_unreachable", id="no-way"
        ),
        pytest.param(
            _refused(errno.ETIMEDOUT), RequestPhase.CONNECTING, "connect_timeout", id="system-gave-up"
        ),
        pytest.param(_refused(errno.ECONNRESET), RequestPhase.HANDSHAKE, "connection_reset", id="reset"),
        pytest.param(_refused(errno.EMFILE), RequestPhase.CONNECTING, "offline", id="no-more-files"),
        pytest.param(
            _refused(None), RequestPhase.CONNECTING, "connect_unreachable", id="several-ways-to-fail"
        ),
        pytest.param(
            aiohttp.ConnectionTimeoutError("x"), RequestPhase.CONNECTING, "connect_timeout", id="slow-connect"
        ),
        pytest.param(
            aiohttp.ConnectionTimeoutError("x"), RequestPhase.HANDSHAKE, "tls_timeout", id="slow-handshake"
        ),
        pytest.param(_certificate(10), RequestPhase.HANDSHAKE, "tls_expired", id="expired"),
        pytest.param(_certificate(62), RequestPhase.HANDSHAKE, "tls_wrong_name", id="wrong-name"),
        pytest.param(_certificate(18), RequestPhase.HANDSHAKE, "tls_untrusted", id="self-signed"),
        pytest.param(
            aiohttp.ClientConnectorSSLError(PLACE, ssl.SSLError(1, "x")),
            RequestPhase.HANDSHAKE,
            "tls_failed",
            id="tls",
        ),
        pytest.param(
            aiohttp.ServerDisconnectedError(), RequestPhase.REQUEST_SENT, "connection_closed", id="closed"
        ),
        pytest.param(
            aiohttp.ClientOSError(errno.EPIPE, "x"), RequestPhase.REQUEST_SENT, "connection_reset", id="pipe"
        ),
        pytest.param(
            _caused(aiohttp.ClientPayloadError("x"), ContentLengthError("short")),
            RequestPhase.RESPONSE_STARTED,
            "body_truncated",
            id="short",
        ),
        pytest.param(
            aiohttp.ClientPayloadError("chunk"), RequestPhase.RESPONSE_STARTED, "bad_framing", id="chunk"
        ),
        pytest.param(BadStatusLine("x"), RequestPhase.REQUEST_SENT, "bad_status_line", id="status-line"),
        pytest.param(InvalidHeader("x"), RequestPhase.REQUEST_SENT, "bad_header", id="header"),
        pytest.param(LineTooLong("x", 10), RequestPhase.REQUEST_SENT, "head_too_large", id="long-line"),
        pytest.param(aiohttp.InvalidURL("x"), RequestPhase.CONNECTING, "bad_url", id="url"),
        pytest.param(
            aiohttp.NonHttpUrlClientError("x"), RequestPhase.CONNECTING, "refused_scheme", id="scheme"
        ),
        pytest.param(TimeoutError(), RequestPhase.REQUEST_SENT, "head_timeout", id="time"),
        pytest.param(
            aiohttp.ClientConnectionError("Connection closed"),
            RequestPhase.RESPONSE_STARTED,
            "connection_closed",
            id="gone",
        ),
        pytest.param(KeyError("x"), RequestPhase.REQUEST_SENT, "internal", id="ours"),
        pytest.param(
            RuntimeError("Session is closed"), RequestPhase.CONNECTING, "internal", id="closed-session"
        ),
    ],
)
def test_each_error_is_one_of_our_classes(error: Exception, phase: RequestPhase, found: str) -> None:
    """Retry rules see only these classes."""
    failure = map_exception(error, phase)

    assert failure.error_class == found
    assert failure.error_class in set(ErrorClass)
    assert 0 < len(failure.message) <= 300


def test_a_fetch_failure_is_returned_as_it_is() -> None:
    failure = FetchFailure(ErrorClass.TOO_SLOW, "x")

    assert map_exception(failure) is failure


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(_refused(errno.ECONNREFUSED), "a.test:443: Connection refused", id="system"),
        pytest.param(_refused(None), "a.test:443: several", id="several-ways-to-fail"),
        pytest.param(
            aiohttp.ClientConnectorSSLError(PLACE, ssl.SSLError(1, "no TLS here")),
            "a.test:443: no TLS here",
            id="tls",
        ),
        pytest.param(_certificate(10), "a.test:443: no", id="certificate"),
    ],
)
def test_messages_are_reproducible(error: Exception, message: str) -> None:
    """It is published in events: no address of an object in this process belongs there."""
    assert map_exception(error).message == message
