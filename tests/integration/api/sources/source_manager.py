"""A small source-manager on HTTP: a list of sources that a test changes, and their events in Redis."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

PATH = "/api/v1/sources"
TOKEN = "token-of-the-source-manager"


@dataclass
class ListedSources:
    """What the server lists; `failure` is a status that it answers with instead."""

    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    failure: int = 0
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def put(self, source_id: str, **fields: Any) -> None:
        known = self.sources.get(source_id, {"id": source_id, "enabled": True, "selectors": {}})
        self.sources = {**self.sources, source_id: {**known, **fields}}

    def answer(self, path: str, token: str) -> tuple[int, Any]:
        self.asked.append(path)
        if token != f"Bearer {TOKEN}":
            return 401, {"error": "no token"}
        if self.failure:
            return self.failure, {"error": "broken"}
        if path == PATH:
            return 200, {"sources": list(self.sources.values()), "count": len(self.sources)}
        found = self.sources.get(unquote(path.removeprefix(f"{PATH}/")))
        return (404, {"error": "no such source"}) if found is None else (200, found)


@contextmanager
def source_manager() -> Iterator[ListedSources]:
    """Run the server."""
    listed = ListedSources()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            status, document = listed.answer(path, self.headers.get("Authorization", ""))
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the library's name
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    listed.url = f"http://127.0.0.1:{server.server_address[1]}{PATH}"
    try:
        yield listed
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
