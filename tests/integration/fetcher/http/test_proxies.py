"""Requests by way of proxies, over real sockets: who is asked for what, and whose fault it is."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import replace
from pathlib import Path

import pytest
import uvloop

from strider.fetcher.core import Standing, parse_proxy_url
from strider.testing.hostile import PAGE, http_response, sends, serve_hostile
from strider.testing.proxy_server import TestProxy, serve_proxy
from tests.integration.fetcher.test_in_process import house

from .runner import asking, lookup_from, request

CERTIFICATES = Path(__file__).parent / "certificates"
AUTHORITY = str(CERTIFICATES / "authority.pem")


def _tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "good.pem")
    return context


@pytest.mark.req("S0.3.1", "S0.3.4", "S4.12.29")
@pytest.mark.parametrize("account", [pytest.param("", id="open"), pytest.param("me:my-word", id="account")])
@pytest.mark.parametrize("protocol", ["http", "socks5"])
async def test_a_plain_page_comes_by_way_of_a_proxy(protocol: str, account: str) -> None:
    """The account is for the proxy: the site must never see it."""
    proxy = TestProxy(protocol, account)
    async with serve_hostile({"/a": sends(http_response())}) as server, serve_proxy(proxy), asking() as asker:
        wanted = request(server.url("/a", host="site.localhost"))
        first = await asker.ask(wanted, via=proxy.url)
        again = await asker.ask(wanted, via=proxy.url)

    assert first.page is not None
    assert (first.page.body, first.page.proxy) == (PAGE, f"{protocol}://127.0.0.1:{proxy.port}")
    assert first.completed.proxy == first.page.proxy
    assert first.completed.remote_address == f"127.0.0.1:{proxy.port}"
    assert again.completed.connection_reused
    assert server.request_heads[0].startswith(f"GET /a HTTP/1.1\r\nHost: site.localhost:{server.port}\r\n")
    assert ["Proxy" in head for head in server.request_heads] == [False, False]
    assert proxy.requested_targets == [f"127.0.0.1:{server.port}"], (
        "the address that was judged, and it alone"
    )


@pytest.mark.req("S0.3.1", "S0.3.4")
async def test_a_proxy_without_tunnels_is_given_the_url_of_a_plain_page() -> None:
    """It is asked for a tunnel once, not for each page; the account is for it alone."""
    proxy = TestProxy("http", "me:my-word", supports_connect=False)
    async with serve_hostile({"/": sends(http_response())}) as server, serve_proxy(proxy), asking() as asker:
        ends = [
            await asker.ask(request(server.url("/", host=f"{name}.localhost")), via=proxy.url)
            for name in ("one", "one", "two")
        ]

    assert [end.completed.outcome for end in ends] == ["fetched"] * 3
    assert [end.completed.connection_reused for end in ends] == [False, True, False]
    place = f"127.0.0.1:{server.port}"
    urls = [f"http://{name}.localhost:{server.port}/" for name in ("one", "two")]
    assert proxy.requested_targets == [place, *urls]
    assert all(b"Proxy-Authorization: Basic" in head for head in proxy.request_heads)
    assert ["Proxy" in head for head in server.request_heads] == [False] * 3


async def test_who_leaves_no_name_to_proxies_gives_none_a_url() -> None:
    """The proxy would resolve the name itself, perhaps to another address than the one that was judged."""
    proxy = TestProxy("http", supports_connect=False)
    async with (
        serve_hostile({"/": sends(http_response())}) as server,
        serve_proxy(proxy),
        asking(must_tunnel=True) as asker,
    ):
        meaning = await asker.ask(request(server.url("/", host="site.localhost")), via=proxy.url)

    assert (meaning.completed.error_class, meaning.completed.outcome) == ("proxy_refused", "proxy_failed")
    assert proxy.requested_targets == [f"127.0.0.1:{server.port}"]
    assert server.requested_paths == []


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x00noise\r\n\r\n", id="noise"),
        pytest.param(b"HTTP/1.1 2 OK\r\n\r\n", id="no status"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n" + http_response(b"lie"), id="a page before it was asked"),
    ],
)
async def test_a_proxy_that_talks_nonsense_is_at_fault_for_plain_pages_too(said: bytes) -> None:
    """Were it given the URL instead, its doings would be counted against each site."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(said)
        writer.close()

    heads: list[bytes] = []
    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with serve_hostile({"/": sends(http_response())}) as server, proxy, asking() as asker:
        via = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        meaning = await asker.ask(request(server.url("/")), via=via)

    assert (meaning.completed.error_class, meaning.completed.outcome) == ("proxy_refused", "proxy_failed")
    assert [head.split(b" ")[0] for head in heads] == [b"CONNECT"]


async def test_a_site_that_is_down_is_no_refusal_of_tunnels() -> None:
    """After a 502 the proxy must not be given the URL: it has tried the judged address."""
    proxy = TestProxy("http", refusal_status=502)
    async with serve_proxy(proxy), asking() as asker:
        meaning = await asker.ask(request("http://site.localhost/"), via=proxy.url)

    assert meaning.completed.error_class == "connect_unreachable"
    assert [target.startswith("http") for target in proxy.requested_targets] == [False]


@pytest.mark.req("S0.3.7")
@pytest.mark.parametrize("protocol", ["http", "socks5", "https"])
async def test_encryption_is_between_us_and_the_site(protocol: str) -> None:
    """Certificates are looked at as without a proxy, and the tunnel leads to the address that was judged."""
    proxy = TestProxy(protocol)
    outer = _tls() if protocol == "https" else None
    async with (
        serve_hostile({"/": sends(http_response())}, tls=_tls()) as server,
        serve_proxy(proxy, tls=outer),
        asking(ca_file=AUTHORITY, lookup=lookup_from(good_localhost=["127.0.0.1"])) as asker,
    ):
        via = proxy.url.replace("127.0.0.1", "good.localhost")
        good = await asker.ask(request(server.url("/", host="good.localhost", scheme="https")), via=via)
        again = await asker.ask(request(server.url("/", host="good.localhost", scheme="https")), via=via)
        other = await asker.ask(request(server.url("/", host="bad.localhost", scheme="https")), via=via)

    assert (good.completed.outcome, good.completed.tls_us > 0) == ("fetched", True)
    assert (again.completed.outcome, again.completed.connection_reused) == ("fetched", True)
    # asyncio loses the reason where TLS runs within TLS; that there is no page is what counts.
    lost = {"connection_closed"} if protocol == "https" else set()
    assert other.completed.error_class in {"tls_wrong_name", *lost}
    assert proxy.requested_targets == [f"127.0.0.1:{server.port}"] * 2


@pytest.mark.parametrize(
    ("protocol", "refuses", "error", "outcome"),
    [
        pytest.param("http", 403, "proxy_refused", "proxy_failed", id="http-refuses"),
        pytest.param("http", 502, "connect_unreachable", "network_failed", id="http-site-down"),
        pytest.param("http", 504, "connect_timeout", "timed_out", id="http-site-slow"),
        pytest.param("socks5", 2, "proxy_refused", "proxy_failed", id="socks-refuses"),
        pytest.param("socks5", 4, "connect_unreachable", "network_failed", id="socks-site-down"),
        pytest.param("socks5", 5, "connect_refused", "network_failed", id="socks-site-refuses"),
    ],
)
async def test_a_proxy_that_refuses_is_told_apart_from_a_site_that_is_down(
    protocol: str, refuses: int, error: str, outcome: str
) -> None:
    """What is the proxy's fault must not be held against the site, nor the other way round."""
    proxy = TestProxy(protocol, refusal_status=refuses)
    async with serve_proxy(proxy), asking() as asker:
        meaning = await asker.ask(request("https://site.localhost/"), via=proxy.url)

    assert (meaning.completed.error_class, meaning.completed.outcome) == (error, outcome)


@pytest.mark.parametrize("protocol", ["http", "socks5"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_wrong_account_is_the_proxys_matter(protocol: str, scheme: str) -> None:
    proxy = TestProxy(protocol, "me:right")
    async with serve_proxy(proxy), asking() as asker:
        wrong = proxy.url.replace("right", "wrong")
        meaning = await asker.ask(request(f"{scheme}://site.localhost/"), via=wrong)

    completed = meaning.completed
    assert (completed.error_class, completed.outcome) == ("proxy_auth", "proxy_failed")
    assert "wrong" not in str(completed)


@pytest.mark.parametrize("protocol", ["http", "https", "socks5"])
async def test_a_proxy_that_is_not_there_is_not_the_sites_fault(protocol: str) -> None:
    async with serve_proxy(TestProxy(protocol)) as proxy:
        pass
    async with asking() as asker:
        meaning = await asker.ask(request("http://site.localhost/"), via=proxy.url)

    assert (meaning.completed.error_class, meaning.completed.before_connect) == ("proxy_unreachable", True)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("protocol", ["http", "socks5"])
async def test_no_proxy_is_asked_for_what_we_may_not_ask(protocol: str, scheme: str) -> None:
    """A proxy inside of a network must not become a way into it."""
    proxy = TestProxy(protocol)
    lookup = lookup_from(inside_test=["10.0.0.7"])
    async with serve_proxy(proxy), asking(allow_private=False, lookup=lookup) as asker:
        meaning = await asker.ask(request(f"{scheme}://inside.test/"), via=proxy.url)

    assert (meaning.completed.error_class, proxy.requested_targets, proxy.request_heads) == (
        "refused_address",
        [],
        [],
    )


@pytest.mark.req("S0.3.2", "S0.3.3", "S0.3.5", "S0.3.8", "S1.14.6", "S1.15.8", "S4.14.4")
async def test_requests_are_spread_evenly_and_a_dead_proxy_costs_no_page() -> None:
    """What one proxy failed at is asked again, by way of another."""
    async with (
        serve_hostile({"/": sends(http_response())}) as server,
        serve_proxy(TestProxy("http")) as one,
        serve_proxy(TestProxy("socks5", "me:too")) as two,
        serve_proxy(TestProxy("http")) as three,
        house(
            proxies_enabled=True, proxy_urls=(one.url, two.url, three.url), proxy_requests_per_second=0
        ) as ring,
    ):
        ring.write(*await ring.leasing.lease(*(server.url("/", host=f"h{n}.localhost") for n in range(12))))
        await ring.drained()
        counts = [len(proxy.requested_targets) for proxy in (one, two, three)]
        two.refusal_status = 1
        ring.write(*await ring.leasing.lease(*(server.url("/", host=f"g{n}.localhost") for n in range(3))))
        await ring.drained()

    assert counts == [4, 4, 4]
    assert sorted(end.outcome for end in ring.ends) == [*["fetched"] * 14, "proxy_failed"]
    failed = next(end for end in ring.ends if end.outcome == "proxy_failed")
    assert (failed.proxy, "too" in str(failed.error_message)) == (f"socks5://127.0.0.1:{two.port}", False)


@pytest.mark.parametrize("protocol", ["http", "socks5", "https"])
def test_the_loop_of_the_services_tunnels_too(protocol: str) -> None:
    """Uvloop's transports are none of asyncio's kind, and services run on it."""

    async def act() -> list[str]:
        proxy = TestProxy(protocol)
        outer = _tls() if protocol == "https" else None
        async with (
            serve_hostile({"/": sends(http_response())}) as plain,
            serve_hostile({"/": sends(http_response())}, tls=_tls()) as secure,
            serve_proxy(proxy, tls=outer),
            asking(ca_file=AUTHORITY) as asker,
        ):
            via = proxy.url.replace("127.0.0.1", "good.localhost")
            urls = [
                plain.url("/", host="good.localhost"),
                secure.url("/", host="good.localhost", scheme="https"),
            ]
            return [(await asker.ask(request(url), via=via)).completed.outcome for url in urls]

    assert uvloop.run(act()) == ["fetched", "fetched"]


@pytest.mark.req("S0.3.9")
async def test_what_one_proxy_failed_at_is_tried_by_way_of_another() -> None:
    async with (
        serve_hostile({"/": sends(http_response())}) as server,
        serve_proxy(TestProxy("socks5", refusal_status=2)) as ill,
        serve_proxy(TestProxy("socks5")) as well,
        house(max_in_flight=2, proxies_enabled=True, proxy_urls=(ill.url, well.url)) as ring,
    ):
        first, second = await ring.leasing.lease(
            *(server.url(f"/?{number}", host="a.localhost") for number in range(2))
        )
        ring.write(first)
        await ring.drained()
        ring.write(replace(second, try_number=2))
        await ring.drained()

    assert [(end.try_number, end.outcome) for end in ring.ends] == [(1, "proxy_failed"), (2, "fetched")]


async def test_without_a_proxy_in_use_nothing_is_asked() -> None:
    """Who asks by way of proxies does not want to be seen: a request never goes without one."""
    async with serve_hostile({"/": sends(http_response())}) as server, house(proxies_enabled=True) as ring:
        ring.write(*await ring.leasing.lease(server.url("/", host="a.localhost")))
        await ring.until(lambda: "proxies" in ring.loop.paused_reasons)

        assert server.requested_paths == []
        async with serve_proxy(TestProxy()) as proxy:
            rotation = ring.asker.proxies
            assert rotation is not None
            rotation.replace_all([(parse_proxy_url(proxy.url), Standing())])
            await ring.drained()

    assert [end.proxy for end in ring.ends] == [f"http://127.0.0.1:{proxy.port}"]
