"""Servers and seeds of an attacker, each of them as cheap as an attack can be."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

from strider.testing.site.plan import page_html, sentences

Reply = tuple[int, Mapping[str, str], bytes]
"""Status, headers and body."""
PAGE: Reply = (
    200,
    {"Content-Type": "text/html; charset=utf-8"},
    page_html("A page of the attacker", sentences(Random(1), 1_500), ["/"]),  # prose, no secret
)


@dataclass(slots=True)
class AttackerSite:
    """A server of the attacker on one loopback address: what it was asked, and with which headers."""

    origin: str
    requests: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)

    def headers(self, name: str) -> list[str]:
        """Return the values of a header in all requests that it received."""
        return [headers[name] for _, headers in self.requests if name in headers]


@contextmanager
def attacker_site(reply: Callable[[str], Reply], *, address: str = "127.0.0.1") -> Iterator[AttackerSite]:
    """Serve replies by path while the context lasts."""
    site = AttackerSite("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that the base class calls
            site.requests.append((self.path, dict(self.headers)))
            status, headers, body = reply(self.path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer((address, 0), Handler)
    site.origin = f"http://{address}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def attacker_sites(count: int, reply: Callable[[str], Reply]) -> Iterator[list[AttackerSite]]:
    """Serve the same replies on so many loopback addresses."""
    with ExitStack() as served:
        yield [
            served.enter_context(attacker_site(reply, address=f"127.9.{number // 250}.{number % 250 + 1}"))
            for number in range(count)
        ]


def robots_allowing(path: str) -> Reply | None:
    """Return the robots.txt that allows everything, for its path."""
    return (
        (200, {"Content-Type": "text/plain"}, b"User-agent: *\nAllow: /\n") if path == "/robots.txt" else None
    )
