"""A request as the connector needs it: like aiohttp's own, without its cost."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import aiohttp
import pytest
from aiohttp import ClientRequest
from yarl import URL

from strider.fetcher.adapters.http.exchange import OutgoingRequest

CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

URLS = [
    pytest.param("http://a.test/b?c=%20d", id="plain"),
    pytest.param("https://a.test:8443/", id="tls on a port"),
    pytest.param("http://[::1]:8080/x", id="address"),
    pytest.param("https://xn--4ca.test/%E9", id="letters"),
]

HEADERS = [("User-Agent", "Strider/1"), ("X-A", "1"), ("X-A", "2")]


class Wired:
    """A connection that keeps what is written."""

    def __init__(self, *, is_closing: bool = False) -> None:
        self.written = b""
        self._is_closing = is_closing
        self.transport = self.protocol = self

    def write(self, data: bytes) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self._is_closing

    def start_timeout(self) -> None: ...


def asked(url: str, headers: list[tuple[str, str]] = HEADERS) -> OutgoingRequest:
    return OutgoingRequest(URL(url, encoded=True), headers, tls_context=CONTEXT)


def theirs(url: str) -> ClientRequest:
    loop = asyncio.new_event_loop()
    try:
        skipped = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
        parsed = URL(url, encoded=True)
        return ClientRequest(
            "GET", parsed, headers=HEADERS, loop=loop, ssl=CONTEXT, skip_auto_headers=skipped
        )
    finally:
        loop.close()


@pytest.mark.parametrize("url", URLS)
def test_a_request_has_the_attributes_of_aiohttps_own(url: str) -> None:
    """Connections are shared, opened and encrypted by these; a new version of aiohttp may need more."""
    ours, own = asked(url), theirs(url)

    names = ("connection_key", "host", "port", "ssl", "method", "url", "proxy", "proxy_auth", "proxy_headers")
    for name in (*names, "server_hostname", "request_info", "headers"):
        assert getattr(ours, name) == getattr(own, name), name
    assert ours.is_ssl() == own.is_ssl()


def test_the_head_contains_only_what_was_requested() -> None:
    """A server must receive the path as found, and no header that was not chosen."""
    conn: Any = Wired()

    asked("http://a.test:80/b/../%7e?c=%20d").write(conn)

    head = b"GET /b/../%7e?c=%20d HTTP/1.1\r\nHost: a.test\r\n"
    assert conn.written == head + b"User-Agent: Strider/1\r\nX-A: 1\r\nX-A: 2\r\n\r\n"


def test_a_given_host_header_replaces_the_default() -> None:
    """Two Host headers would let a server and a proxy disagree about the site."""
    conn: Any = Wired()

    asked("http://a.test/", [("host", "b.test")]).write(conn)

    assert conn.written == b"GET / HTTP/1.1\r\nHost: b.test\r\n\r\n"


@pytest.mark.parametrize("header", [("X-A", "1\r\nX-B: 2"), ("X-A\r\nX-B", "1")])
def test_line_ends_in_headers_are_refused(header: tuple[str, str]) -> None:
    """The headers of a run come from people."""
    conn: Any = Wired()

    with pytest.raises(ValueError, match=r"[Hh]eader"):
        asked("http://a.test/", [header]).write(conn)
    assert conn.written == b""


def test_nothing_is_written_on_a_closing_connection() -> None:
    """Its server will never respond; the request must be sent on another connection."""
    conn: Any = Wired(is_closing=True)

    with pytest.raises(aiohttp.ClientConnectionResetError):
        asked("http://a.test/").write(conn)
    assert conn.written == b""


@pytest.mark.parametrize(
    ("url", "refusal"),
    [
        pytest.param("ftp://a.test/", aiohttp.NonHttpUrlClientError, id="scheme"),
        pytest.param("http:///a", aiohttp.InvalidUrlClientError, id="no host"),
    ],
)
def test_invalid_urls_are_refused(url: str, refusal: type[Exception]) -> None:
    """No name is resolved and no connection is opened for them."""
    with pytest.raises(refusal):
        asked(url)
