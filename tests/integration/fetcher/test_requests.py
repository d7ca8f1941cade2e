"""Requests over real sockets: what is sent, redirects, connections that are kept, limits, the end."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from aiohttp.connector import Connection

from strider.fetcher.adapters import RequestOptions
from strider.fetcher.adapters.talking import Asked
from strider.fetcher.core import Places, RedirectRules
from strider.testing.hostile import (
    CHUNKED,
    PAGE,
    Reader,
    Writer,
    answer,
    for_ever,
    redirect,
    running,
    says,
    silent,
)
from tests.integration.fetcher.asking import MARKED_AT_US, asking, request

A_READ = 256 * 1024
"""The most that asyncio takes from a socket at a time."""


async def test_what_is_sent_says_who_we_are() -> None:
    """A site's owner must be able to see who asks, and to write to them."""
    async with running({"/": says(answer())}) as server, asking() as asker:
        wanted = request(
            server.url("/a|b?q='x'", host="site.localhost"),
            header_names=("Accept-Language", "Host", "Connection", "X-Bad"),
            header_values=("de", "evil.test", "close", "a\r\nX-Injected: 1"),
        )
        await asker.ask(wanted)

    wanted_head = (
        f"GET /a|b?q='x' HTTP/1.1\r\nHost: site.localhost:{server.port}\r\n"
        "User-Agent: Strider/1.2.3 (+https://example.org/bot)\r\n"
        "Accept: text/html,application/xhtml+xml,*/*;q=0.5\r\nAccept-Encoding: gzip, deflate\r\n"
        "Accept-Language: de\r\n\r\n"
    )
    assert server.heads == [wanted_head]


async def test_a_page_tells_how_it_was_fetched() -> None:
    play = says(answer(headers=('ETag: "v1"', "Last-Modified: yesterday", "Set-Cookie: a=b")))
    async with running({"/": play}) as server, asking() as asker:
        first = await asker.ask(request(server.url("/", host="a.localhost"), lease_id="1-1-1"))
        second = await asker.ask(request(server.url("/", host="a.localhost"), lease_id="1-1-2"))

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
    assert "Cookie" not in server.heads[1], "cookies are off"


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
    """What a redirect leads to is a request of its own: robots, delay and addresses are looked at again."""
    async with running({"/start": says(redirect(location))}) as server, asking() as asker:
        wanted = request(server.url("/start", host="a.localhost"))
        seen = server.url("/seen", host="a.localhost")
        completed = (await asker.ask(replace(wanted, redirect_chain=(seen,), hop=1))).completed

    told = (completed.outcome, completed.redirect_target, completed.redirect_refused, completed.has_page)
    assert told == ("redirected", target.format(port=server.port), refused, False)
    assert bool(completed.redirect_target_key) == bool(target)
    assert server.asked == ["/start"]


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
async def test_redirects_have_an_end(hop: int, max_hops: int, refused: str) -> None:
    async with running({"/": says(redirect("/next"))}) as server, asking() as asker:
        asker.rules = RedirectRules(Places(allow_private=True), max_hops=max_hops)
        completed = (await asker.ask(request(server.url("/"), hop=hop))).completed

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
        pytest.param("206 Part", (), "odd_status", "", id="206-nobody-asked-for"),
        pytest.param("302 Found", (), "redirected", "", id="302-to-nowhere"),
        pytest.param("999 What", (), "server_error", "status_server", id="999"),
    ],
)
async def test_each_status_has_its_outcome(
    status: str, headers: Sequence[str], outcome: str, error: str
) -> None:
    """Bodies of such answers are no pages, and are read for the connection's sake only."""
    play = says(answer(b"x" * 1000, status=status, headers=tuple(headers)))
    async with running({"/": play, "/ok": says(answer())}) as server, asking() as asker:
        completed = (await asker.ask(request(server.url("/")))).completed
        after = (await asker.ask(request(server.url("/ok")))).completed

    told = (completed.outcome, completed.error_class, completed.has_page, completed.status)
    assert told == (outcome, error, False, int(status[:3]))
    assert completed.retry_after_seconds == (7.0 if headers else -1.0)
    assert after.connection_reused


async def test_a_long_body_that_nobody_wants_is_not_read_to_its_end() -> None:
    play = says(answer(b"x" * 300_000, status="404 Not Found"))
    async with running({"/": play}) as server, asking() as asker:
        completed = (await asker.ask(request(server.url("/")))).completed

    assert completed.outcome == "not_found"
    assert completed.body_bytes < 300_000


async def test_a_slow_body_that_nobody_wants_is_given_up_soon() -> None:
    play = for_ever(CHUNKED.replace(b"200 OK", b"500 Oh"), b"1\r\nx\r\n", every_seconds=0.05)
    async with running({"/": play}) as server, asking() as asker:
        began = time.monotonic()
        completed = (await asker.ask(request(server.url("/"), deadline_ms=5_000))).completed

    assert (completed.outcome, completed.status) == ("server_error", 500)
    assert time.monotonic() - began < 2.0


@pytest.mark.parametrize(
    ("etag", "outcome", "has_page"),
    [
        pytest.param('"v1"', "not_modified", True, id="with-validator", marks=pytest.mark.req("S0.6.3")),
        pytest.param("", "odd_status", False, id="without-validator"),
    ],
)
async def test_not_modified_is_an_answer_to_a_validator_only(etag: str, outcome: str, has_page: bool) -> None:
    """A 304 that nobody asked for says nothing about the page."""
    async with running({"/": says(b"HTTP/1.1 304 Not Modified\r\n\r\n")}) as server, asking() as asker:
        meaning = await asker.ask(request(server.url("/"), etag=etag))

    assert (meaning.completed.outcome, meaning.completed.has_page) == (outcome, has_page)
    assert (meaning.page is not None and meaning.page.not_modified) == has_page
    assert (f"If-None-Match: {etag}" in server.heads[0]) == bool(etag)


@pytest.mark.parametrize("with_reset", [False, True])
async def test_a_kept_connection_that_was_closed_costs_nothing(with_reset: bool) -> None:
    """Servers close what was idle whenever they like; nothing is said on what is known to be closed."""
    heard: list[bytes] = []
    kept: list[socket.socket] = []

    def serve_one() -> None:
        place, _ = listener.accept()
        kept.append(place)
        heard.append(place.recv(65_536))
        place.sendall(answer())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        async with asking() as asker:
            await asyncio.gather(asyncio.to_thread(serve_one), asker.ask(request(url)))
            if with_reset:
                kept[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            kept[0].close()  # and this loop has not run since
            _, found = await asyncio.gather(asyncio.to_thread(serve_one), asker.ask(request(url)))
    kept[1].close()

    assert (found.completed.outcome, found.completed.connection_reused) == ("fetched", False)
    assert [head.split(b"\r\n")[0] for head in heard] == [b"GET / HTTP/1.1"] * 2


async def test_what_was_said_on_a_kept_connection_is_not_said_again() -> None:
    """A server that hears it and hangs up has counted it: the delay to the next one is the scheduler's."""

    async def once(reader: Reader, writer: Writer) -> None:
        writer.write(answer())
        await writer.drain()
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    heard: list[bytes] = []
    async with running({"/": once}) as server, asking() as asker:
        await asker.ask(request(server.url("/")))
        completed = (await asker.ask(request(server.url("/")))).completed

    assert (completed.outcome, completed.error_class) == ("network_failed", "connection_closed")
    assert (completed.connection_reused, len(heard), server.connections) == (True, 1, 1)


async def test_a_fresh_connection_that_is_closed_is_not_tried_again() -> None:
    """What a server closes after it was asked, it may have counted: trying again is the scheduler's."""
    async with running({"/": says(then_close=True)}) as server, asking() as asker:
        completed = (await asker.ask(request(server.url("/")))).completed

    assert (completed.outcome, completed.error_class, server.connections) == (
        "network_failed",
        "connection_closed",
        1,
    )


async def test_nobody_listening_is_known_before_anything_is_sent() -> None:
    """Nothing was asked of the host, so its delay is not used up."""
    async with running({}) as server:
        gone = server.url("/")
    async with asking() as asker:
        completed = (await asker.ask(request(gone))).completed

    told = (completed.outcome, completed.error_class, completed.before_connect, completed.started_at_us)
    assert told == ("network_failed", "connect_refused", True, 0)


async def test_a_request_that_stood_still_is_not_made() -> None:
    """Its lease may have ended meanwhile; whoever stopped the process for a while must not cost a request."""
    async with running({"/": says(answer())}) as server, asking() as asker:
        completed = (await asker.ask(request(server.url("/")), marked_seconds_ago=2.5)).completed

    told = (completed.outcome, completed.error_class, completed.before_connect, completed.started_at_us)
    assert told == ("interrupted", "cancelled", True, 0)
    assert server.connections == 0


async def test_a_request_is_told_to_begin_when_it_was_sent_at_the_latest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A loop may write at the end of its turn only: what else it does in that turn makes the request late."""
    ends: list[float] = []
    write = Asked.write

    def write_in_a_long_turn(asked: Asked, connection: Connection) -> None:
        write(asked, connection)
        time.sleep(0.2)  # the loop's turn is what is long
        ends.append(time.monotonic())

    monkeypatch.setattr(Asked, "write", write_in_a_long_turn)
    async with running({"/": says(answer())}) as server, asking() as asker:
        began = time.monotonic()
        fetched = await asker.ask(request(server.url("/")))

    told_seconds = (fetched.completed.started_at_us - MARKED_AT_US) / 1_000_000
    assert told_seconds >= ends[0] - began - 0.05
    assert fetched.completed.ttfb_us < 150_000


async def test_a_kept_connection_does_not_carry_what_stood_still_either() -> None:
    async with running({"/": says(answer())}) as server, asking() as asker:
        await asker.ask(request(server.url("/")))
        completed = (
            await asker.ask(request(server.url("/"), deadline_ms=9_000), marked_seconds_ago=3)
        ).completed
        after = (await asker.ask(request(server.url("/")))).completed

    assert (completed.outcome, completed.before_connect) == ("interrupted", True)
    assert (after.connection_reused, server.asked) == (True, ["/", "/"])


async def test_a_stop_ends_what_takes_long_and_lets_the_rest_finish() -> None:
    """Nothing that was marked ends without an outcome, not even at the end of the process."""
    plays = {"/slow": silent, "/soon": says(b"", answer(), every_seconds=0.1)}
    async with running(plays) as server, asking() as asker:
        slow = asyncio.create_task(asker.ask(request(server.url("/slow"), deadline_ms=30_000)))
        soon = asyncio.create_task(asker.ask(request(server.url("/soon"), deadline_ms=30_000)))
        async with asyncio.timeout(30):
            while len(server.asked) < 2:
                await asyncio.sleep(0.01)
        asker.requests.finish_within(0.4)
        completed = [(await task).completed for task in (slow, soon)]
        late = (await asker.ask(request(server.url("/slow"), deadline_ms=30_000))).completed

    assert [(each.outcome, each.error_class) for each in completed] == [
        ("interrupted", "cancelled"),
        ("fetched", ""),
    ]
    assert completed[0].started_at_us > 0
    assert (late.outcome, late.error_class) == ("interrupted", "cancelled")


async def test_bodies_beyond_the_budget_wait_for_each_other() -> None:
    """Memory is bounded by what may be in hand, not by what servers send at the same time."""
    body = b"x" * 2_000_000
    async with running({"/": says(answer(body))}) as server, asking(budget_bytes=500_000) as asker:
        most = 0

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, asker.budget.held_bytes)
                await asyncio.sleep(0.001)

        watching = asyncio.create_task(watch())
        wanted = [request(server.url("/", host=f"h{n}.localhost"), deadline_ms=5_000) for n in range(6)]
        meanings = await asyncio.gather(*map(asker.ask, wanted))
        watching.cancel()

    assert [meaning.completed.outcome for meaning in meanings] == ["fetched"] * 6
    assert all(meaning.page is not None and meaning.page.body == body for meaning in meanings)
    assert most < 500_000 + len(body) + 6 * A_READ
    assert asker.budget.held_bytes == 0


async def test_idle_connections_have_a_limit() -> None:
    """A crawl meets many hosts once: what is kept for each of them would use up the system's files."""
    async with running({"/": says(answer())}) as server, asking(max_idle=3) as asker:
        for number in range(8):
            await asker.ask(request(server.url("/", host=f"h{number}.localhost")))

    assert sum("Connection: close" in head for head in server.heads) >= 3


async def test_a_cancelled_request_leaves_nothing_behind() -> None:
    async with running({"/slow": silent, "/ok": says(answer())}) as server, asking() as asker:
        task = asyncio.create_task(asker.ask(request(server.url("/slow"))))
        async with asyncio.timeout(30):
            while not server.asked:
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        completed = (await asker.ask(request(server.url("/ok")))).completed

    assert (completed.outcome, completed.connection_reused) == ("fetched", False)
    assert asker.budget.held_bytes == 0


async def test_a_run_may_not_ask_for_more_time_than_is_allowed() -> None:
    options = RequestOptions(max_deadline_seconds=0.2)
    async with running({"/": silent}) as server, asking(options=options) as asker:
        completed = (await asker.ask(request(server.url("/"), deadline_ms=60_000))).completed

    assert (completed.outcome, completed.total_us < 1_000_000) == ("timed_out", True)
