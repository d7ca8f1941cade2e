"""Requests over real sockets: headers, redirects, kept connections, limits, shutdown."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from aiohttp.connector import Connection

from strider.fetcher.adapters import RequestLimits
from strider.fetcher.adapters.http.exchange import OutgoingRequest
from strider.fetcher.core import AddressPolicy, RedirectRules
from strider.testing.hostile import (
    CHUNKED,
    PAGE,
    Reader,
    Writer,
    http_response,
    redirect_response,
    sends,
    sends_forever,
    sends_nothing,
    serve_hostile,
)
from tests.integration.fetcher.http.runner import MARKED_AT_US, request, running_client

A_READ = 256 * 1024
LAST_MODIFIED = "Wed, 18 Nov 2026 08:00:00 GMT"
"""The most that asyncio reads from a socket at a time."""


@pytest.mark.req("S3.7.8", "S3.7.9", "S3.17.1")
async def test_a_request_identifies_the_crawler() -> None:
    """A site's owner must be able to see who fetches, and to contact us."""
    async with serve_hostile({"/": sends(http_response())}) as server, running_client() as client:
        wanted = request(
            server.url("/a|b?q='x'", host="site.localhost"),
            header_names=("Accept-Language", "Host", "Connection", "X-Bad"),
            header_values=("de", "evil.test", "close", "a\r\nX-Injected: 1"),
        )
        await client.fetch(wanted)

    wanted_head = (
        f"GET /a|b?q='x' HTTP/1.1\r\nHost: site.localhost:{server.port}\r\n"
        "User-Agent: Strider/1.2.3 (+https://example.org/bot)\r\n"
        "Accept: text/html,application/xhtml+xml,*/*;q=0.5\r\nAccept-Encoding: gzip, deflate\r\n"
        "Accept-Language: de\r\n\r\n"
    )
    assert server.request_heads == [wanted_head]


@pytest.mark.req("S3.7.4")
async def test_a_page_contains_the_trace_of_its_request() -> None:
    play = sends(http_response(headers=('ETag: "v1"', "Last-Modified: yesterday", "Set-Cookie: a=b")))
    async with serve_hostile({"/": play}) as server, running_client() as client:
        first = await client.fetch(request(server.url("/", host="a.localhost"), lease_id="1-1-1"))
        second = await client.fetch(request(server.url("/", host="a.localhost"), lease_id="1-1-2"))

    page, completed = first.page, first.completed
    assert page is not None
    told = (page.status, page.etag, page.last_modified, page.content_type, page.body_bytes, page.body)
    assert told == (200, '"v1"', "yesterday", "text/html", len(PAGE), PAGE)
    assert list(zip(page.header_names, page.header_values, strict=True))[-1] == ("Set-Cookie", "a=b")
    assert completed.remote_address == f"127.0.0.1:{server.port}"
    assert completed.marked_at_us == MARKED_AT_US < completed.started_at_us < MARKED_AT_US + 1_000_000
    assert completed.connect_us > 0 < completed.ttfb_us <= completed.total_us
    assert completed.completed_at_ms >= completed.started_at_us // 1000
    assert (completed.connection_reused, second.completed.connection_reused) == (False, True)
    assert (second.completed.connect_us, second.completed.dns_us, server.connections) == (0, 0, 1)
    assert "Cookie" not in server.request_heads[1], "cookies are off"


@pytest.mark.req("S3.7.1")
@pytest.mark.parametrize(
    ("location", "target", "refused"),
    [
        pytest.param("/b?x=1#part", "http://a.localhost:{port}/b?x=1", "", id="path"),
        pytest.param("//b.localhost/x", "http://b.localhost/x", "", id="host"),
        pytest.param("HTTPS://B.localhost", "https://b.localhost/", "", id="scheme"),
        pytest.param("?page=2", "http://a.localhost:{port}/start?page=2", "", id="query"),
        pytest.param("/caf\xe9?\xfc", "http://a.localhost:{port}/caf%E9?%FC", "", id="old-bytes"),
        pytest.param("/caf\xc3\xa9", "http://a.localhost:{port}/caf%C3%A9", "", id="utf-8"),
        pytest.param("file:///etc/passwd", "", "refused_scheme", id="file"),
        pytest.param("javascript:alert(1)", "", "refused_scheme", id="script"),
        pytest.param("gopher://x/", "", "refused_scheme", id="gopher"),
        pytest.param("http://", "", "bad_redirect", id="no-host"),
        pytest.param("http://a:99999/", "", "bad_redirect", id="no-port"),
        pytest.param("/" + "x" * 4000, "", "url_too_long", id="long"),
        pytest.param(
            "http://169.254.169.254/latest", "http://169.254.169.254/latest", "policy_blocked", id="vault"
        ),
        pytest.param("http://2852039166/", "http://169.254.169.254/", "policy_blocked", id="vault-as-number"),
        pytest.param(
            "/start",
            "http://a.localhost:{port}/start",
            "redirect_loop",
            id="itself",
            marks=pytest.mark.req("S3.7.5"),
        ),
        pytest.param("/seen", "http://a.localhost:{port}/seen", "redirect_loop", id="where-it-came-from"),
    ],
)
async def test_a_redirect_is_an_outcome_with_its_target(location: str, target: str, refused: str) -> None:
    """The target of a redirect is a request of its own: robots.txt, delay and addresses are checked again."""
    async with (
        serve_hostile({"/start": sends(redirect_response(location))}) as server,
        running_client() as client,
    ):
        wanted = request(server.url("/start", host="a.localhost"))
        seen = server.url("/seen", host="a.localhost")
        completed = (await client.fetch(replace(wanted, redirect_chain=(seen,), hop=1))).completed

    told = (completed.outcome, completed.redirect_target, completed.redirect_refused, completed.has_page)
    assert told == ("redirected", target.format(port=server.port), refused, False)
    assert bool(completed.redirect_target_key) == bool(target)
    assert server.requested_paths == ["/start"]


@pytest.mark.fault("S5")
@pytest.mark.req("S3.7.5")
@pytest.mark.req("S1.14.9", part="none is followed where none may be")
@pytest.mark.req("S1.14.10", part="as many are followed as may be")
@pytest.mark.parametrize(
    ("hop", "max_hops", "refused"),
    [
        pytest.param(4, 5, "", id="the-fifth-is-followed"),
        pytest.param(5, 5, "too_many_redirects", id="the-sixth-is-not"),
        pytest.param(0, 0, "too_many_redirects", id="none-is-followed"),
    ],
)
async def test_redirects_are_limited(hop: int, max_hops: int, refused: str) -> None:
    async with serve_hostile({"/": sends(redirect_response("/next"))}) as server, running_client() as client:
        client.rules = RedirectRules(AddressPolicy(allow_private=True), max_hops=max_hops)
        completed = (await client.fetch(request(server.url("/"), hop=hop))).completed

    assert (completed.outcome, completed.redirect_refused) == ("redirected", refused)


@pytest.mark.parametrize(
    ("status", "headers", "outcome", "error"),
    [
        pytest.param("404 Not Found", (), "not_found", "status_client", id="404"),
        pytest.param("410 Gone", (), "not_found", "status_client", id="410"),
        pytest.param("403 Forbidden", (), "blocked", "status_client", id="403"),
        pytest.param("418 Teapot", (), "client_error", "status_client", id="418"),
        pytest.param("429 Slow", ("Retry-After: 7",), "rate_limited", "status_client", id="429"),
        pytest.param("500 Oh", (), "server_error", "status_server", id="500"),
        pytest.param("503 Later", ("Retry-After: 7",), "overloaded", "status_server", id="503"),
        pytest.param("206 Part", (), "odd_status", "", id="206-without-a-range"),
        pytest.param("302 Found", (), "redirected", "", id="302-to-nowhere"),
        pytest.param("999 What", (), "server_error", "status_server", id="999"),
    ],
)
async def test_each_status_has_its_outcome(
    status: str, headers: Sequence[str], outcome: str, error: str
) -> None:
    """Bodies of such responses are no pages, and are read only to reuse the connection."""
    play = sends(http_response(b"x" * 1000, status=status, headers=tuple(headers)))
    async with (
        serve_hostile({"/": play, "/ok": sends(http_response())}) as server,
        running_client() as client,
    ):
        completed = (await client.fetch(request(server.url("/")))).completed
        after = (await client.fetch(request(server.url("/ok")))).completed

    told = (completed.outcome, completed.error_class, completed.has_page, completed.status)
    assert told == (outcome, error, False, int(status[:3]))
    assert completed.retry_after_seconds == (7.0 if headers else -1.0)
    assert after.connection_reused


async def test_a_long_unwanted_body_is_not_read_to_its_end() -> None:
    play = sends(http_response(b"x" * 300_000, status="404 Not Found"))
    async with serve_hostile({"/": play}) as server, running_client() as client:
        completed = (await client.fetch(request(server.url("/")))).completed

    assert completed.outcome == "not_found"
    assert completed.body_bytes < 300_000


async def test_a_slow_unwanted_body_is_aborted_soon() -> None:
    play = sends_forever(CHUNKED.replace(b"200 OK", b"500 Oh"), b"1\r\nx\r\n", every_seconds=0.05)
    async with serve_hostile({"/": play}) as server, running_client() as client:
        began = time.monotonic()
        completed = (await client.fetch(request(server.url("/"), deadline_ms=5_000))).completed

    assert (completed.outcome, completed.status) == ("server_error", 500)
    assert time.monotonic() - began < 2.0


@pytest.mark.parametrize(
    ("etag", "outcome", "has_page"),
    [
        pytest.param('"v1"', "not_modified", True, id="with-validator", marks=pytest.mark.req("S0.6.3")),
        pytest.param("", "odd_status", False, id="without-validator"),
    ],
)
async def test_not_modified_is_sent_for_conditional_requests_only(
    etag: str, outcome: str, has_page: bool
) -> None:
    """A 304 to an unconditional request says nothing about the page."""
    async with (
        serve_hostile({"/": sends(b"HTTP/1.1 304 Not Modified\r\n\r\n")}) as server,
        running_client() as client,
    ):
        wanted = request(server.url("/"), etag=etag, last_modified=LAST_MODIFIED if etag else "")
        meaning = await client.fetch(wanted)

    assert (meaning.completed.outcome, meaning.completed.has_page) == (outcome, has_page)
    assert (meaning.page is not None and meaning.page.not_modified) == has_page
    for header in (f"If-None-Match: {etag}\r\n", f"If-Modified-Since: {LAST_MODIFIED}\r\n"):
        assert (header in server.request_heads[0]) == bool(etag)


@pytest.mark.parametrize("with_reset", [False, True])
async def test_a_kept_connection_that_was_closed_costs_nothing(with_reset: bool) -> None:
    """Servers close idle connections at any time; nothing is sent on one that is known to be closed."""
    heard: list[bytes] = []
    kept: list[socket.socket] = []

    def serve_one() -> None:
        place, _ = listener.accept()
        kept.append(place)
        heard.append(place.recv(65_536))
        place.sendall(http_response())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        async with running_client() as client:
            await asyncio.gather(asyncio.to_thread(serve_one), client.fetch(request(url)))
            if with_reset:
                kept[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            kept[0].close()  # and this event loop has not run since
            _, found = await asyncio.gather(asyncio.to_thread(serve_one), client.fetch(request(url)))
    kept[1].close()

    assert (found.completed.outcome, found.completed.connection_reused) == ("fetched", False)
    assert [head.split(b"\r\n")[0] for head in heard] == [b"GET / HTTP/1.1"] * 2


async def test_a_request_written_on_a_kept_connection_is_not_repeated() -> None:
    """A server that reads it and closes has counted it: the delay before the next one is the scheduler's."""

    async def once(reader: Reader, writer: Writer) -> None:
        writer.write(http_response())
        await writer.drain()
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    heard: list[bytes] = []
    async with serve_hostile({"/": once}) as server, running_client() as client:
        await client.fetch(request(server.url("/")))
        completed = (await client.fetch(request(server.url("/")))).completed

    assert (completed.outcome, completed.error_class) == ("network_failed", "connection_closed")
    assert (completed.connection_reused, len(heard), server.connections) == (True, 1, 1)


async def test_a_closed_new_connection_is_not_retried() -> None:
    """A request that was followed by a close may have been counted: retries are the scheduler's."""
    async with serve_hostile({"/": sends(then_close=True)}) as server, running_client() as client:
        completed = (await client.fetch(request(server.url("/")))).completed

    assert (completed.outcome, completed.error_class, server.connections) == (
        "network_failed",
        "connection_closed",
        1,
    )


async def test_a_refused_connection_is_a_failure_before_the_request() -> None:
    """Nothing was sent to the host, so its delay is not used up."""
    async with serve_hostile({}) as server:
        gone = server.url("/")
    async with running_client() as client:
        completed = (await client.fetch(request(gone))).completed

    told = (completed.outcome, completed.error_class, completed.before_connect, completed.started_at_us)
    assert told == ("network_failed", "connect_refused", True, 0)


async def test_a_suspended_request_is_not_sent() -> None:
    """Its lease may have ended meanwhile; a suspended process must not cost the site a request."""
    async with serve_hostile({"/": sends(http_response())}) as server, running_client() as client:
        completed = (await client.fetch(request(server.url("/")), marked_seconds_ago=2.5)).completed

    told = (completed.outcome, completed.error_class, completed.before_connect, completed.started_at_us)
    assert told == ("interrupted", "cancelled", True, 0)
    assert server.connections == 0


async def test_the_start_time_is_when_the_head_was_really_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Uvloop writes at the end of an iteration: everything else in that iteration delays the request."""
    ends: list[float] = []
    write = OutgoingRequest.write

    def write_in_a_long_turn(asked: OutgoingRequest, connection: Connection) -> None:
        write(asked, connection)
        time.sleep(0.2)  # makes the iteration long
        ends.append(time.monotonic())

    monkeypatch.setattr(OutgoingRequest, "write", write_in_a_long_turn)
    async with serve_hostile({"/": sends(http_response())}) as server, running_client() as client:
        began = time.monotonic()
        fetched = await client.fetch(request(server.url("/")))

    told_seconds = (fetched.completed.started_at_us - MARKED_AT_US) / 1_000_000
    assert told_seconds >= ends[0] - began - 0.05
    assert fetched.completed.ttfb_us < 150_000


async def test_a_suspended_request_is_not_sent_on_a_kept_connection_either() -> None:
    async with serve_hostile({"/": sends(http_response())}) as server, running_client() as client:
        await client.fetch(request(server.url("/")))
        completed = (
            await client.fetch(request(server.url("/"), deadline_ms=9_000), marked_seconds_ago=3)
        ).completed
        after = (await client.fetch(request(server.url("/")))).completed

    assert (completed.outcome, completed.before_connect) == ("interrupted", True)
    assert (after.connection_reused, server.requested_paths) == (True, ["/", "/"])


async def test_shutdown_interrupts_long_requests_and_lets_the_others_finish() -> None:
    """Every marked request ends with an outcome, also at the end of the process."""
    plays = {"/slow": sends_nothing, "/soon": sends(b"", http_response(), every_seconds=0.1)}
    async with serve_hostile(plays) as server, running_client() as client:
        slow = asyncio.create_task(client.fetch(request(server.url("/slow"), deadline_ms=30_000)))
        soon = asyncio.create_task(client.fetch(request(server.url("/soon"), deadline_ms=30_000)))
        async with asyncio.timeout(30):
            while len(server.requested_paths) < 2:
                await asyncio.sleep(0.01)
        client.runner.finish_within(0.4)
        completed = [(await task).completed for task in (slow, soon)]
        late = (await client.fetch(request(server.url("/slow"), deadline_ms=30_000))).completed

    assert [(each.outcome, each.error_class) for each in completed] == [
        ("interrupted", "cancelled"),
        ("fetched", ""),
    ]
    assert completed[0].started_at_us > 0
    assert (late.outcome, late.error_class) == ("interrupted", "cancelled")


async def test_bodies_beyond_the_budget_wait_for_each_other() -> None:
    """Memory is limited by the budget, not by what servers send at the same time."""
    body = b"x" * 2_000_000
    async with (
        serve_hostile({"/": sends(http_response(body))}) as server,
        running_client(budget_bytes=500_000) as client,
    ):
        most = 0

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, client.body_budget.held_bytes)
                await asyncio.sleep(0.001)

        watching = asyncio.create_task(watch())
        wanted = [request(server.url("/", host=f"h{n}.localhost"), deadline_ms=5_000) for n in range(6)]
        meanings = await asyncio.gather(*map(client.fetch, wanted))
        watching.cancel()

    assert [meaning.completed.outcome for meaning in meanings] == ["fetched"] * 6
    assert all(meaning.page is not None and meaning.page.body == body for meaning in meanings)
    assert most < 500_000 + len(body) + 6 * A_READ
    assert client.body_budget.held_bytes == 0


async def test_idle_connections_have_a_limit() -> None:
    """A crawl visits many hosts once: their kept connections would use up the open files."""
    async with serve_hostile({"/": sends(http_response())}) as server, running_client(max_idle=3) as client:
        for number in range(8):
            await client.fetch(request(server.url("/", host=f"h{number}.localhost")))

    assert sum("Connection: close" in head for head in server.request_heads) >= 3


async def test_a_cancelled_request_leaves_nothing_behind() -> None:
    async with (
        serve_hostile({"/slow": sends_nothing, "/ok": sends(http_response())}) as server,
        running_client() as client,
    ):
        task = asyncio.create_task(client.fetch(request(server.url("/slow"))))
        async with asyncio.timeout(30):
            while not server.requested_paths:
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        completed = (await client.fetch(request(server.url("/ok")))).completed

    assert (completed.outcome, completed.connection_reused) == ("fetched", False)
    assert client.body_budget.held_bytes == 0


async def test_the_deadline_of_a_run_is_limited() -> None:
    options = RequestLimits(max_deadline_seconds=0.2)
    async with serve_hostile({"/": sends_nothing}) as server, running_client(options=options) as client:
        completed = (await client.fetch(request(server.url("/"), deadline_ms=60_000))).completed

    assert (completed.outcome, completed.total_us < 1_000_000) == ("timed_out", True)
