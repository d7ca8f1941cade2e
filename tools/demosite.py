"""Three small hosts on loopback with what crawlers stumble over, for `make demo`.

What each path answers is a pure function of host and path, so that a page can be asked again. The
calendar has a page for every day there is: it never ends, as such calendars do. Needs nothing but the
standard library.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Thread
from typing import Final

HOSTS: Final = ("shop.localhost", "notes.localhost", "manual.localhost")
PAGES: Final = 24
CHILDREN: Final = 5
SLOW_SECONDS: Final = 1.5

_WORDS: Final = (
    *("copper", "lantern", "harbour", "winter", "paper", "bridge", "orchard", "signal", "kitchen", "mirror"),
    *("follows", "measures", "repairs", "crosses", "opens", "paints", "counts", "slowly", "often", "gladly"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a path answers."""

    status: int = 200
    body: str = ""
    kind: str = "text/html; charset=utf-8"
    location: str = ""
    wait_seconds: float = 0.0


def answer(host: str, path: str, port: int) -> Answer:
    """Say what a path of a host answers."""
    if path == "/robots.txt":
        rules = "User-agent: *\nDisallow: /private/\n"
        return Answer(body=rules + "Crawl-delay: 0.2\n" * (host == "notes.localhost"), kind="text/plain")
    if path == "/":
        return Answer(body=_page(f"Welcome to {host}", host + path, [*_tree(0), *_oddities(host, port)]))
    name, _, number = path.lstrip("/").partition("/")
    if name == "page" and number.isdigit() and 0 < int(number) <= PAGES:
        links = ["/", *_tree(int(number))]
        return Answer(body=_page(f"{host.partition('.')[0].capitalize()} {number}", host + path, links))
    if name == "calendar" and number.isdigit():
        return Answer(body=_page(f"Day {number}", host + path, [f"/calendar/{int(number) + 1}"]))
    return _odd(host, path)


def _odd(host: str, path: str) -> Answer:
    twin = _page("The same story", "twin", [])
    found = {
        "/old": Answer(301, location="/older"),
        "/older": Answer(302, location="/page/1"),
        "/elsewhere": Answer(302, location="http://169.254.169.254/latest/meta-data/"),
        "/slow": Answer(body=_page("Worth waiting for", host + path, []), wait_seconds=SLOW_SECONDS),
        "/broken": Answer(500, "<h1>Something broke</h1>"),
        "/soft": Answer(body="<title>Page not found</title><h1>404</h1><p>Sorry, there is no such page.</p>"),
        "/story": Answer(body=twin),
        "/story/print": Answer(body=twin.replace("<main>", "<main><p>Printed today.</p>")),
        "/private/diary": Answer(body=_page("Nobody may ask for this", host + path, [])),
    }
    return found.get(path, Answer(404, "<h1>Nothing here</h1>"))


def _tree(number: int) -> list[str]:
    first = number * CHILDREN + 1
    return [f"/page/{child}" for child in range(first, min(first + CHILDREN, PAGES + 1))]


def _oddities(host: str, port: int) -> list[str]:
    others = [f"http://{name}:{port}/" for name in HOSTS if name != host]
    if host == "shop.localhost":
        return [*others, "/old", "/slow", "/calendar/1", "/catalogue.zip", "/private/diary"]
    if host == "notes.localhost":
        return [*others, "/story", "/story/print", "/private/diary", "/elsewhere"]
    return [*others, "/broken", "/gone", "/soft", "mailto:nobody@example.org"]


def _page(title: str, seed: str, links: Sequence[str]) -> str:
    chance = Random(seed)  # noqa: S311  # prose, not a secret
    text = " ".join(" ".join(chance.choices(_WORDS, k=11)).capitalize() + "." for _ in range(14))
    items = "".join(f'<li><a href="{escape(link)}">{escape(link)}</a></li>' for link in links)
    return (
        f'<!doctype html><html lang="en"><head><title>{escape(title)}</title>'
        f'<meta name="description" content="{escape(title)}, in short"></head>'
        f"<body><h1>{escape(title)}</h1><main><p>{text}</p></main><ul>{items}</ul></body></html>"
    )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer."""
        host, _, port = self.headers.get("Host", "").partition(":")
        found = answer(host, self.path, int(port or 80))
        time.sleep(found.wait_seconds)
        body = found.body.encode()
        self.send_response(found.status)
        self.send_header("Content-Type", found.kind)
        self.send_header("Content-Length", str(len(body)))
        if found.location:
            self.send_header("Location", found.location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
        """Say nothing."""


@contextmanager
def serve() -> Iterator[str]:
    """Serve the hosts for as long as the context lasts; gives the URL to begin with."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{HOSTS[0]}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
