"""Requests through proxies, over real sockets: what the proxy receives, and whose fault a failure is."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import replace
from pathlib import Path

import pytest
import uvloop

from strider.fetcher.core import ProxyHealth, parse_proxy_url
from strider.testing.hostile import PAGE, http_response, sends, serve_hostile
from strider.testing.proxy_server import TestProxy, serve_proxy
from tests.integration.fetcher.test_in_process import in_process

from .runner import lookup_from, request, running_client

CERTIFICATES = Path(__file__).parents[1] / "certificates"
AUTHORITY = str(CERTIFICATES / "authority.pem")


def _tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "good.pem")
    return context


@pytest.mark.req("S0.3.1", "S0.3.4", "S4.12.29")
@pytest.mark.parametrize("account", [pytest.param("", id="open"), pytest.param("me:my-word", id="account")])
@pytest.mark.parametrize("protocol", ["http", "socks5"])
async def test_a_plain_page_is_fetched_through_a_proxy(protocol: str, account: str) -> None:
    """The credentials are for the proxy: the site must never see them."""
    proxy = TestProxy(protocol, account)
    async with (
        serve_hostile({"/a": sends(http_response())}) as server,
        serve_proxy(proxy),
        running_client() as client,
    ):
        wanted = request(server.url("/a", host="site.localhost"))
        first = await client.fetch(wanted, proxy=proxy.url)
        again = await client.fetch(wanted, proxy=proxy.url)

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
    """A tunnel is requested once, not for each page; the credentials are for the proxy alone."""
    proxy = TestProxy("http", "me:my-word", supports_connect=False)
    async with (
        serve_hostile({"/": sends(http_response())}) as server,
        serve_proxy(proxy),
        running_client() as client,
    ):
        ends = [
            await client.fetch(request(server.url("/", host=f"{name}.localhost")), proxy=proxy.url)
            for name in ("one", "one", "two")
        ]

    assert [end.completed.outcome for end in ends] == ["fetched"] * 3
    assert [end.completed.connection_reused for end in ends] == [False, True, False]
    place = f"127.0.0.1:{server.port}"
    urls = [f"http://{name}.localhost:{server.port}/" for name in ("one", "two")]
    assert proxy.requested_targets == [place, *urls]
    assert all(b"Proxy-Authorization: Basic" in head for head in proxy.request_heads)
    assert ["Proxy" in head for head in server.request_heads] == [False] * 3


async def test_with_must_tunnel_no_proxy_is_given_a_url() -> None:
    """The proxy would resolve the name itself, perhaps to another address than the checked one."""
    proxy = TestProxy("http", supports_connect=False)
    async with (
        serve_hostile({"/": sends(http_response())}) as server,
        serve_proxy(proxy),
        running_client(must_tunnel=True) as client,
    ):
        meaning = await client.fetch(request(server.url("/", host="site.localhost")), proxy=proxy.url)

    assert (meaning.completed.error_class, meaning.completed.outcome) == ("proxy_refused", "proxy_failed")
    assert proxy.requested_targets == [f"127.0.0.1:{server.port}"]
    assert server.requested_paths == []


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x00noise\r\n\r\n", id="noise"),
        pytest.param(b"HTTP/1.1 2 OK\r\n\r\n", id="no status"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n" + http_response(b"lie"), id="a page before its request"),
    ],
)
async def test_an_invalid_proxy_response_is_a_proxy_failure_for_plain_pages_too(said: bytes) -> None:
    """Given the URL instead, its failures would be counted against each site."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(said)
        writer.close()

    heads: list[bytes] = []
    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with serve_hostile({"/": sends(http_response())}) as server, proxy, running_client() as client:
        via = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        meaning = await client.fetch(request(server.url("/")), proxy=via)

    assert (meaning.completed.error_class, meaning.completed.outcome) == ("proxy_refused", "proxy_failed")
    assert [head.split(b" ")[0] for head in heads] == [b"CONNECT"]


async def test_a_site_that_is_down_is_no_refusal_of_tunnels() -> None:
    """After a 502 the proxy must not be given the URL: it has tried the checked address."""
    proxy = TestProxy("http", refusal_status=502)
    async with serve_proxy(proxy), running_client() as client:
        meaning = await client.fetch(request("http://site.localhost/"), proxy=proxy.url)

    assert meaning.completed.error_class == "connect_unreachable"
    assert [target.startswith("http") for target in proxy.requested_targets] == [False]


@pytest.mark.req("S0.3.7")
@pytest.mark.parametrize("protocol", ["http", "socks5", "https"])
async def test_tls_is_end_to_end_through_a_proxy(protocol: str) -> None:
    """Certificates are verified as without a proxy, and the tunnel leads to the checked address."""
    proxy = TestProxy(protocol)
    outer = _tls() if protocol == "https" else None
    async with (
        serve_hostile({"/": sends(http_response())}, tls=_tls()) as server,
        serve_proxy(proxy, tls=outer),
        running_client(ca_file=AUTHORITY, lookup=lookup_from(good_localhost=["127.0.0.1"])) as client,
    ):
        via = proxy.url.replace("127.0.0.1", "good.localhost")
        good = await client.fetch(request(server.url("/", host="good.localhost", scheme="https")), proxy=via)
        again = await client.fetch(request(server.url("/", host="good.localhost", scheme="https")), proxy=via)
        other = await client.fetch(request(server.url("/", host="bad.localhost", scheme="https")), proxy=via)

    assert (good.completed.outcome, good.completed.tls_us > 0) == ("fetched", True)
    assert (again.completed.outcome, again.completed.connection_reused) == ("fetched", True)
    # asyncio loses the reason if TLS runs within TLS; that there is no page is what counts.
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
async def test_a_refusing_proxy_is_distinguished_from_an_unreachable_site(
    protocol: str, refuses: int, error: str, outcome: str
) -> None:
    """A failure of the proxy must not count against the site, nor the other way round."""
    proxy = TestProxy(protocol, refusal_status=refuses)
    async with serve_proxy(proxy), running_client() as client:
        meaning = await client.fetch(request("https://site.localhost/"), proxy=proxy.url)

    assert (meaning.completed.error_class, meaning.completed.outcome) == (error, outcome)


@pytest.mark.parametrize("protocol", ["http", "socks5"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_wrong_credentials_are_a_proxy_failure(protocol: str, scheme: str) -> None:
    proxy = TestProxy(protocol, "me:right")
    async with serve_proxy(proxy), running_client() as client:
        wrong = proxy.url.replace("right", "wrong")
        meaning = await client.fetch(request(f"{scheme}://site.localhost/"), proxy=wrong)

    completed = meaning.completed
    assert (completed.error_class, completed.outcome) == ("proxy_auth", "proxy_failed")
    assert "wrong" not in str(completed)


@pytest.mark.parametrize("protocol", ["http", "https", "socks5"])
async def test_an_unreachable_proxy_is_a_proxy_failure(protocol: str) -> None:
    async with serve_proxy(TestProxy(protocol)) as proxy:
        pass
    async with running_client() as client:
        meaning = await client.fetch(request("http://site.localhost/"), proxy=proxy.url)

    assert (meaning.completed.error_class, meaning.completed.before_connect) == ("proxy_unreachable", True)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("protocol", ["http", "socks5"])
async def test_forbidden_addresses_are_refused_through_a_proxy_too(protocol: str, scheme: str) -> None:
    """A proxy inside of a network must not become a way into it."""
    proxy = TestProxy(protocol)
    lookup = lookup_from(inside_test=["10.0.0.7"])
    async with serve_proxy(proxy), running_client(allow_private=False, lookup=lookup) as client:
        meaning = await client.fetch(request(f"{scheme}://inside.test/"), proxy=proxy.url)

    assert (meaning.completed.error_class, proxy.requested_targets, proxy.request_heads) == (
        "refused_address",
        [],
        [],
    )


@pytest.mark.req("S0.3.2", "S0.3.3", "S0.3.8", "S1.15.8", "S4.14.4")
async def test_requests_are_spread_evenly_and_a_dead_proxy_costs_no_page() -> None:
    """Whatever the crawl spec is; and a failure of one proxy is retried through another."""
    async with (
        serve_hostile({"/": sends(http_response())}) as server,
        serve_proxy(TestProxy("http")) as one,
        serve_proxy(TestProxy("socks5", "me:too")) as two,
        serve_proxy(TestProxy("http")) as three,
        in_process(
            proxies_enabled=True, proxy_urls=(one.url, two.url, three.url), proxy_requests_per_second=0
        ) as fetcher,
    ):
        leased = await fetcher.leasing.lease(*(server.url("/", host=f"h{n}.localhost") for n in range(12)))
        fetcher.write(*(replace(each, crawl_spec_id=f"spec-{n % 3}") for n, each in enumerate(leased)))
        await fetcher.drained()
        counts = [len(proxy.requested_targets) for proxy in (one, two, three)]
        two.refusal_status = 1
        urls = [server.url("/", host=f"g{n}.localhost") for n in range(3)]
        fetcher.write(*await fetcher.leasing.lease(*urls))
        await fetcher.drained()

    assert counts == [4, 4, 4]
    assert sorted(end.outcome for end in fetcher.ends) == [*["fetched"] * 14, "proxy_failed"]
    failed = next(end for end in fetcher.ends if end.outcome == "proxy_failed")
    assert (failed.proxy, "too" in str(failed.error_message)) == (f"socks5://127.0.0.1:{two.port}", False)


@pytest.mark.parametrize("protocol", ["http", "socks5", "https"])
def test_tunnels_work_on_uvloop(protocol: str) -> None:
    """Uvloop's transports are no subclasses of asyncio's, and services run on uvloop."""

    async def act() -> list[str]:
        proxy = TestProxy(protocol)
        outer = _tls() if protocol == "https" else None
        async with (
            serve_hostile({"/": sends(http_response())}) as plain,
            serve_hostile({"/": sends(http_response())}, tls=_tls()) as secure,
            serve_proxy(proxy, tls=outer),
            running_client(ca_file=AUTHORITY) as client,
        ):
            via = proxy.url.replace("127.0.0.1", "good.localhost")
            urls = [
                plain.url("/", host="good.localhost"),
                secure.url("/", host="good.localhost", scheme="https"),
            ]
            return [(await client.fetch(request(url), proxy=via)).completed.outcome for url in urls]

    assert uvloop.run(act()) == ["fetched", "fetched"]


@pytest.mark.req("S0.3.9")
async def test_a_failure_of_one_proxy_is_retried_through_another() -> None:
    async with (
        serve_hostile({"/": sends(http_response())}) as server,
        serve_proxy(TestProxy("socks5", refusal_status=2)) as ill,
        serve_proxy(TestProxy("socks5")) as well,
        in_process(max_in_flight=2, proxies_enabled=True, proxy_urls=(ill.url, well.url)) as fetcher,
    ):
        first, second = await fetcher.leasing.lease(
            *(server.url(f"/?{number}", host="a.localhost") for number in range(2))
        )
        fetcher.write(first)
        await fetcher.drained()
        fetcher.write(replace(second, try_number=2))
        await fetcher.drained()

    assert [(end.try_number, end.outcome) for end in fetcher.ends] == [(1, "proxy_failed"), (2, "fetched")]


async def test_without_an_enabled_proxy_nothing_is_sent() -> None:
    """A request that is to go through a proxy never goes without one."""
    async with (
        serve_hostile({"/": sends(http_response())}) as server,
        in_process(proxies_enabled=True) as fetcher,
    ):
        fetcher.write(*await fetcher.leasing.lease(server.url("/", host="a.localhost")))
        await fetcher.until(lambda: "proxies" in fetcher.loop.paused_reasons)

        assert server.requested_paths == []
        async with serve_proxy(TestProxy()) as proxy:
            pool = fetcher.client.proxies
            assert pool is not None
            pool.replace_all([(parse_proxy_url(proxy.url), ProxyHealth())])
            await fetcher.drained()

    assert [end.proxy for end in fetcher.ends] == [f"http://127.0.0.1:{proxy.port}"]
