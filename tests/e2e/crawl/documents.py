"""A site of a few documents by path, for cases that a generated site does not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableSequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

REDIRECT = "Location: "


@contextmanager
def serve_documents(
    documents: Mapping[str, str], *, requested: MutableSequence[str] | None = None
) -> Iterator[str]:
    """Serve documents during the block; yields the origin.

    A document that begins with `Location: ` is a redirect. Host and path of each request are appended to
    `requested`.
    """

    class Documents(BaseHTTPRequestHandler):
        """Serves the documents, and 404 for other paths."""

        def do_GET(self) -> None:
            document = documents.get(self.path, "")
            is_redirect = document.startswith(REDIRECT)
            body = b"" if is_redirect else document.encode()
            if requested is not None:
                requested.append(self.headers["Host"].partition(":")[0] + self.path)
            self.send_response(301 if is_redirect else 200 if body else 404)
            if is_redirect:
                self.send_header("Location", document.removeprefix(REDIRECT))
            self.send_header("Content-Type", "application/xml" if self.path.endswith(".xml") else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Documents)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
