"""The generated site as it is served: each kind of answer, one connection, and a log that tells the truth."""

from __future__ import annotations

import gzip
import http.client
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from strider.testing.site import AccessLogLine, ServedSite, SiteShape, serve_site

SHAPE = SiteShape(
    hosts=2, pages_per_host=3, slow_seconds=0.3, crawl_delay_seconds=2.5, has_busy=True, trap_depth=2
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedSite]:
    with serve_site(1, SHAPE, log=tmp_path_factory.mktemp("site") / "access.log") as served:
        yield served


@contextmanager
def asking(site: ServedSite, host: int = 0) -> Iterator[Asker]:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
    try:
        yield Asker(connection, f"site{host}.localhost:{site.port}")
    finally:
        connection.close()


class Asker:
    """One connection to one host."""

    def __init__(self, connection: http.client.HTTPConnection, host: str) -> None:
        self._connection = connection
        self._host = host

    def get(self, path: str, **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
        self._connection.request("GET", path, headers={"Host": self._host, **headers})
        answer = self._connection.getresponse()
        return answer.status, answer.headers, answer.read()


def lines_of(site: ServedSite, path: str) -> list[AccessLogLine]:
    return [line for line in site.access_log() if line.path == path]


@pytest.mark.parametrize(
    ("path", "statuses"),
    [
        pytest.param("/", [200, 200], id="a-page"),
        pytest.param("/gone", [404, 404], id="missing"),
        pytest.param("/nowhere", [404], id="unknown"),
        pytest.param("/broken", [500, 500, 500], id="broken-for-good"),
        pytest.param("/flaky", [500, 200, 200], id="flaky-then-fine"),
        pytest.param("/busy", [429, 200], id="busy-then-fine"),
        pytest.param("/chain/0", [302], id="a-redirect"),
        pytest.param("/day/3", [200], id="beyond-the-trap"),
    ],
)
def test_each_kind_of_page_responds_as_planned(site: ServedSite, path: str, statuses: list[int]) -> None:
    with asking(site) as asker:
        assert [asker.get(path)[0] for _ in statuses] == statuses


def test_a_busy_page_sends_retry_after(site: ServedSite) -> None:
    with asking(site, host=1) as asker:
        _, headers, _ = asker.get("/busy")

    assert headers["Retry-After"] == "1"


def test_a_redirect_names_its_target(site: ServedSite) -> None:
    with asking(site) as asker:
        assert asker.get("/chain/0")[1]["Location"] == "/chain/1"
        assert asker.get("/astray")[1]["Location"] == "http://169.254.169.254/"


def test_the_rules_name_what_is_forbidden_and_the_delay(site: ServedSite) -> None:
    with asking(site) as asker:
        _, headers, body = asker.get("/robots.txt")

    assert headers["Content-Type"] == "text/plain"
    assert body.decode().splitlines() == [
        "User-agent: *",
        "Disallow: /private/",
        "Allow: /",
        "Crawl-delay: 2.5",
    ]


def test_bodies_are_compressed_for_those_who_can_read_it(site: ServedSite) -> None:
    with asking(site) as asker:
        _, plain_headers, plain = asker.get("/p/1")
        _, headers, body = asker.get("/p/1", **{"Accept-Encoding": "gzip"})

    assert "Content-Encoding" not in plain_headers
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == plain


def test_the_access_log_has_user_agent_path_and_time(site: ServedSite) -> None:
    began = time.monotonic()
    with asking(site, host=1) as asker:
        asker.get("/slow", **{"User-Agent": "somebody"})
        asker.get("/p/2")
    (slow,), (page,) = lines_of(site, "/slow"), lines_of(site, "/p/2")

    assert (slow.url, slow.method, slow.status, slow.agent) == (
        f"http://site1.localhost:{site.port}/slow",
        "GET",
        200,
        "somebody",
    )
    assert began <= slow.started <= slow.ended <= page.started
    assert slow.ended - slow.earliest >= SHAPE.slow_seconds
    assert slow.connection == page.connection
    assert site.overlapping_requests() == []
    assert site.shortest_intervals()[slow.host] >= 0


def test_the_log_knows_how_late_it_may_be(site: ServedSite) -> None:
    """A site that is not scheduled notes requests late: not as late as it says at the earliest."""
    with asking(site) as asker, ThreadPoolExecutor(1) as beside:
        asker.get("/p/1")
        os.kill(site.pid, signal.SIGSTOP)
        try:
            sent = time.monotonic()
            answer = beside.submit(asker.get, "/p/2")
            with pytest.raises(TimeoutError):
                answer.result(timeout=0.3)
        finally:
            os.kill(site.pid, signal.SIGCONT)
        assert answer.result(timeout=30)[0] == 200
    line = lines_of(site, "/p/2")[-1]

    assert line.earliest <= sent
    assert line.started >= sent + 0.3


def test_hosts_with_own_addresses_are_distinguished(tmp_path: Path) -> None:
    shape = SiteShape(hosts=3, pages_per_host=1, is_plain=True)
    with serve_site(2, shape, log=tmp_path / "access.log", own_addresses=True) as site:
        for origin in site.plan.origins:
            host, _, port = origin.removeprefix("http://").partition(":")
            connection = http.client.HTTPConnection(host, int(port), timeout=10)
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
            connection.close()

        assert set(site.request_counts()) == set(site.plan.pages)
