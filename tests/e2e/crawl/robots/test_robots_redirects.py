"""Sites whose robots.txt redirects elsewhere, crawled by the real command over real sockets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.e2e.crawl.scene import lines_of, run
from tests.figures import record_figure

RULES = b"User-agent: *\nDisallow: /private\n"


class Host(BaseHTTPRequestHandler):
    """Redirects robots.txt where it has a target; the site of the rules, and every page, responds 200."""

    requested: list[tuple[str, str]]
    """Host and path of each request."""
    targets: dict[str, str]
    """By host name: where its robots.txt redirects to."""

    def do_GET(self) -> None:
        name = self.headers["Host"].partition(":")[0]
        self.requested.append((name, self.path))
        target = self.targets.get(name, "") if self.path == "/robots.txt" else ""
        body = RULES if self.path == "/robots.txt" else b"<html><p>A page with a text of its own.</p></html>"
        self.send_response(301 if target else 200)
        if target:
            self.send_header("Location", target)
        self.send_header("Content-Type", "text/plain" if self.path == "/robots.txt" else "text/html")
        self.send_header("Content-Length", "0" if target else str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if target else body)

    def log_message(self, *_: object) -> None:
        """Write no log."""


@pytest.fixture
def web() -> Iterator[type[Host]]:
    """All hosts below `.localhost`, on one port."""
    handler = type("Handler", (Host,), {"requested": [], "targets": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    handler.port = server.server_port  # type: ignore[attr-defined]
    yield handler
    server.shutdown()
    serving.join()
    server.server_close()


def crawl(web: type[Host], targets: dict[str, str], output: Path, *paths: str) -> list[dict[str, object]]:
    """Crawl pages of the redirecting sites."""
    port = web.port  # type: ignore[attr-defined]
    web.targets.update({name: target.replace("PORT", str(port)) for name, target in targets.items()})
    urls = [f"http://{name}:{port}{path}" for name in targets for path in paths]
    run(*urls, "--allow-private", "--delay", "0", "--host-patience", "20", "-o", str(output))
    return lines_of(output)


@pytest.mark.fault("A5")
@pytest.mark.req("S5.2.3", part="redirects of robots.txt to another host group")
def test_hosts_of_an_attacker_cause_no_request_to_a_victim(web: type[Host], tmp_path: Path) -> None:
    """Six hosts that redirect to an expensive page of the victim, each with a query of its own."""
    targets = {f"a{n}.localhost": f"http://victim.localhost:PORT/expensive?{n}" for n in range(6)}

    lines = crawl(web, targets, tmp_path / "out", "/page")

    assert [path for name, path in web.requested if name == "victim.localhost"] == []
    assert {line["status"] for line in lines} == {200}
    assert len(lines) == len(targets)
    record_figure(f"attackers={len(targets)} requests at the victim=0")


def test_the_robots_txt_of_another_host_applies_and_is_requested_once(
    web: type[Host], tmp_path: Path
) -> None:
    targets = {f"b{n}.localhost": "http://www.localhost:PORT/robots.txt" for n in range(4)}

    lines = crawl(web, targets, tmp_path / "out", "/page", "/private")

    assert [path for name, path in web.requested if name == "www.localhost"] == ["/robots.txt"]
    assert {path for name, path in web.requested if name in targets} == {"/robots.txt", "/page"}
    denied = [line["url"] for line in lines if line["reason"] == "robots_denied"]
    assert len(denied) == len(targets)
