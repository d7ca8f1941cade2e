"""What libraries and the system raise, in our words."""

from __future__ import annotations

import errno
import ssl

import aiohttp
import httpx
import pytest
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.http_exceptions import BadStatusLine, ContentLengthError, InvalidHeader, LineTooLong

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.adapters import FetchFailure
from strider.fetcher.adapters.http.error_mapping import Phase, failure_of

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
        pytest.param(_refused(errno.ECONNREFUSED), Phase.CONNECTING, "connect_refused", id="refused"),
        pytest.param(_refused(errno.EHOSTUNREACH), Phase.CONNECTING, "connect_unreachable", id="no-way"),
        pytest.param(_refused(errno.ETIMEDOUT), Phase.CONNECTING, "connect_timeout", id="system-gave-up"),
        pytest.param(_refused(errno.ECONNRESET), Phase.HANDSHAKE, "connection_reset", id="reset"),
        pytest.param(_refused(errno.EMFILE), Phase.CONNECTING, "internal", id="no-more-files"),
        pytest.param(_refused(None), Phase.CONNECTING, "connect_unreachable", id="several-ways-to-fail"),
        pytest.param(
            aiohttp.ConnectionTimeoutError("x"), Phase.CONNECTING, "connect_timeout", id="slow-connect"
        ),
        pytest.param(
            aiohttp.ConnectionTimeoutError("x"), Phase.HANDSHAKE, "tls_timeout", id="slow-handshake"
        ),
        pytest.param(_certificate(10), Phase.HANDSHAKE, "tls_expired", id="expired"),
        pytest.param(_certificate(62), Phase.HANDSHAKE, "tls_wrong_name", id="wrong-name"),
        pytest.param(_certificate(18), Phase.HANDSHAKE, "tls_untrusted", id="self-signed"),
        pytest.param(
            aiohttp.ClientConnectorSSLError(PLACE, ssl.SSLError(1, "x")),
            Phase.HANDSHAKE,
            "tls_failed",
            id="tls",
        ),
        pytest.param(aiohttp.ServerDisconnectedError(), Phase.ASKED, "connection_closed", id="closed"),
        pytest.param(aiohttp.ClientOSError(errno.EPIPE, "x"), Phase.ASKED, "connection_reset", id="pipe"),
        pytest.param(
            _caused(aiohttp.ClientPayloadError("x"), ContentLengthError("short")),
            Phase.RESPONSE_STARTED,
            "body_truncated",
            id="short",
        ),
        pytest.param(aiohttp.ClientPayloadError("chunk"), Phase.RESPONSE_STARTED, "bad_framing", id="chunk"),
        pytest.param(BadStatusLine("x"), Phase.ASKED, "bad_status_line", id="status-line"),
        pytest.param(InvalidHeader("x"), Phase.ASKED, "bad_header", id="header"),
        pytest.param(LineTooLong("x", 10), Phase.ASKED, "head_too_large", id="long-line"),
        pytest.param(aiohttp.InvalidURL("x"), Phase.CONNECTING, "bad_url", id="url"),
        pytest.param(httpx.InvalidURL("x"), Phase.CONNECTING, "bad_url", id="httpx-url"),
        pytest.param(httpx.UnsupportedProtocol("x"), Phase.CONNECTING, "refused_scheme", id="httpx-scheme"),
        pytest.param(TimeoutError(), Phase.ASKED, "head_timeout", id="time"),
        pytest.param(
            aiohttp.ClientConnectionError("Connection closed"),
            Phase.RESPONSE_STARTED,
            "connection_closed",
            id="gone",
        ),
        pytest.param(KeyError("x"), Phase.ASKED, "internal", id="ours"),
        pytest.param(RuntimeError("Session is closed"), Phase.CONNECTING, "internal", id="closed-session"),
    ],
)
def test_each_error_is_one_of_our_classes(error: Exception, phase: Phase, found: str) -> None:
    """Rules about trying again see these words only."""
    failure = failure_of(error, phase)

    assert failure.error_class == found
    assert failure.error_class in set(ErrorClass)
    assert 0 < len(failure.message) <= 300
    assert isinstance(failure, httpx.TransportError)


def test_what_is_ours_already_stays_as_it_is() -> None:
    failure = FetchFailure(ErrorClass.TOO_SLOW, "x")

    assert failure_of(failure) is failure


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
def test_a_message_is_the_same_each_time(error: Exception, message: str) -> None:
    """It goes into events and to people: no address of an object in this process belongs there."""
    assert failure_of(error).message == message
