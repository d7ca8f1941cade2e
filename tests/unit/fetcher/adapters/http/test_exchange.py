"""A request as the connector has to know it: what aiohttp's own would be, without what it costs."""

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


def asked(url: str, headers: list[tuple[str, str]] = HEADERS, *, method: str = "GET") -> OutgoingRequest:
    return OutgoingRequest(method, URL(url, encoded=True), headers, context=CONTEXT)


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
def test_the_connector_sees_what_it_would_see_of_its_own(url: str) -> None:
    """A connection is shared, opened and encrypted by these; a new version of the library may want more."""
    ours, own = asked(url), theirs(url)

    names = ("connection_key", "host", "port", "ssl", "method", "url", "proxy", "proxy_auth", "proxy_headers")
    for name in (*names, "server_hostname", "request_info", "headers"):
        assert getattr(ours, name) == getattr(own, name), name
    assert ours.is_ssl() == own.is_ssl()


def test_the_head_is_what_was_asked_for_and_nothing_else() -> None:
    """A server must get the path as it was found, and no word that nobody chose."""
    conn: Any = Wired()

    asked("http://a.test:80/b/../%7e?c=%20d").write(conn)

    head = b"GET /b/../%7e?c=%20d HTTP/1.1\r\nHost: a.test\r\n"
    assert conn.written == head + b"User-Agent: Strider/1\r\nX-A: 1\r\nX-A: 2\r\n\r\n"


def test_a_host_that_is_named_is_the_one_host() -> None:
    """Httpx's requests bring theirs; two would be a smuggler's."""
    conn: Any = Wired()

    asked("http://a.test/", [("host", "b.test")], method="POST").write(conn)

    assert conn.written == b"POST / HTTP/1.1\r\nHost: b.test\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("header", [("X-A", "1\r\nX-B: 2"), ("X-A\r\nX-B", "1")])
def test_nobody_gets_a_header_in_by_a_line_end(header: tuple[str, str]) -> None:
    """What a run may set comes from people."""
    conn: Any = Wired()

    with pytest.raises(ValueError, match=r"[Hh]eader"):
        asked("http://a.test/", [header]).write(conn)
    assert conn.written == b""


def test_nothing_is_written_on_a_connection_that_goes() -> None:
    """Its server will never answer; the request is to be made on another one."""
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
def test_what_is_no_request_is_refused(url: str, refusal: type[Exception]) -> None:
    """Names are not resolved for it, and no connection is looked for."""
    with pytest.raises(refusal):
        asked(url)
