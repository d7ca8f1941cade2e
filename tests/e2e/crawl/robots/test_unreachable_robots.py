"""Sites whose robots.txt cannot be fetched: the progress line of the waiting crawl, and its output."""

from __future__ import annotations

import os
import pty
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.e2e.crawl.scene import COMMAND, LONGEST_SECONDS, lines_of

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
TIMES = f"last requested {TIME}, unreachable since {TIME}"


class OverloadedSite(BaseHTTPRequestHandler):
    """Responds 503 to everything."""

    requested: list[str]

    def do_GET(self) -> None:
        self.requested.append(self.path)
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Write no log."""


@pytest.fixture
def overloaded() -> Iterator[tuple[str, list[str]]]:
    """A site that responds 503, and the paths that were requested."""
    requested: list[str] = []
    handler = type("Handler", (OverloadedSite,), {"requested": requested})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    yield f"http://overloaded.localhost:{server.server_port}", requested
    server.shutdown()
    serving.join()
    server.server_close()


@pytest.fixture
def refusing() -> Iterator[str]:
    """A site that refuses connections: its port is bound, and nothing listens on it."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://refusing.localhost:{bound.getsockname()[1]}"


def run_on_terminal(*arguments: str) -> tuple[int, str]:
    """Run the command with a terminal as its standard error; return the exit code and what it wrote there."""
    shown, terminal = pty.openpty()
    written: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # the command has closed its side
            while part := os.read(shown, 4096):
                written.append(part)

    reading = threading.Thread(target=read)
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    reading.start()
    try:
        code = process.wait(LONGEST_SECONDS)
    finally:
        process.kill()
        reading.join()
        os.close(shown)
    return code, b"".join(written).decode()


def test_a_crawl_that_waits_for_robots_alone_shows_it_and_names_it_in_the_output(
    overloaded: tuple[str, list[str]], refusing: str, tmp_path: Path
) -> None:
    """A status and a refused connection: which robots.txt, its last response, and when it was requested."""
    site, requested = overloaded
    output = tmp_path / "out"

    code, shown = run_on_terminal(
        *(f"{site}/a", f"{site}/b", f"{refusing}/a"),
        *("--allow-private", "--delay", "0", "--host-patience", "10", "-o", str(output)),
    )

    assert code == 1
    assert set(requested) == {"/robots.txt"}
    lines = {line["url"]: (line["outcome"], line["reason"], line["detail"]) for line in lines_of(output)}
    assert {url: parts[:2] for url, parts in lines.items()} == {
        f"{site}/a": ("refused", "robots_unreachable"),
        f"{site}/b": ("refused", "robots_unreachable"),
        f"{refusing}/a": ("failed", "host_unavailable"),
    }
    assert re.fullmatch(f"robots.txt of {site}: status 503, {TIMES}", lines[f"{site}/b"][2])
    assert re.fullmatch(f"robots.txt of {refusing}: connect_refused, {TIMES}", lines[f"{refusing}/a"][2])
    wait = f"0 pages  2 URLs wait for robots.txt of {site}: status 503 for "
    assert re.search(f"{re.escape(wait)}\\d+ s, next request in \\d+ s", shown)
    assert re.search(f"{re.escape(wait)}\\d+ s, given up in \\d+ s", shown)
    assert "; 1 URL waits for robots.txt of 1 other origin" in shown
