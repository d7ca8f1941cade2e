"""Cookies: who may set which, who receives them, and how many there are."""

from __future__ import annotations

import pytest

from strider.fetcher.adapters.state.cookie_jars import CookieJars, MemoryCookieJars
from strider.fetcher.core import Cookie, build_cookie_header, parse_set_cookies, update_jar
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess.virtual_clock import EventLoopClock
from tests.unit.fetcher.builders import a_request, a_response

NOW = 1_000_000.0
URL = "https://www.shop.co.uk/a/b"


def _one(line: str, url: str = URL) -> Cookie | None:
    return next(iter(parse_set_cookies([line], url=url, now=NOW)), None)


@pytest.mark.fault("S12")
@pytest.mark.parametrize(
    ("line", "domain", "path"),
    [
        pytest.param("a=1", "www.shop.co.uk", "/a", id="plain"),
        pytest.param("a=1; Path=/", "www.shop.co.uk", "/", id="path"),
        pytest.param("a=1; Path=nonsense", "www.shop.co.uk", "/a", id="odd-path"),
        pytest.param("a=1; Domain=.Shop.co.uk", "shop.co.uk", "/a", id="domain"),
        pytest.param("a=1; Domain=www.shop.co.uk", "www.shop.co.uk", "/a", id="own-name"),
        pytest.param("__Host-a=1; Secure; Path=/", "www.shop.co.uk", "/", id="host-promise"),
        pytest.param("=bare", "www.shop.co.uk", "/a", id="no-name"),
    ],
)
def test_a_cookie_is_for_its_host_or_a_parent_within_its_domain(line: str, domain: str, path: str) -> None:
    cookie = _one(line)

    assert cookie is not None
    assert (cookie.domain, cookie.path) == (domain, path)


@pytest.mark.parametrize(
    ("line", "url"),
    [
        pytest.param("a=1; Domain=co.uk", URL, id="public-suffix"),
        pytest.param("a=1; Domain=uk", URL, id="top"),
        pytest.param("a=1; Domain=other.co.uk", URL, id="foreign"),
        pytest.param("a=1; Domain=evil-shop.co.uk", URL, id="looks-alike"),
        pytest.param("a=1; Domain=www.shop.co.uk", "https://shop.co.uk/", id="below"),
        pytest.param("a=1; Domain=github.io", "https://me.github.io/", id="private-suffix"),
        pytest.param("a=1; Domain=0.0.1", "http://127.0.0.1/", id="address"),
        pytest.param("a=1; Secure", "http://www.shop.co.uk/", id="secure-from-plain"),
        pytest.param("__Host-a=1; Secure; Domain=shop.co.uk; Path=/", URL, id="host-promise-broken"),
        pytest.param("__secure-a=1", URL, id="secure-promise-broken"),
        pytest.param("a=" + "x" * 4096, URL, id="large"),
        pytest.param("a=1\x00", URL, id="control"),
        pytest.param("; Path=/", URL, id="empty"),
    ],
)
def test_invalid_cookies_are_ignored(line: str, url: str) -> None:
    """A cookie of a public suffix would be sent to every site below it."""
    assert _one(line, url) is None


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        pytest.param("https://www.shop.co.uk/a/b/c", "deep=1; host=2; wide=3; safe=4", id="all"),
        pytest.param("http://www.shop.co.uk/", "host=2; wide=3", id="plain"),
        pytest.param("https://shop.co.uk/a/b", "wide=3", id="domain"),
        pytest.param("https://www.shop.co.uk/a/bc", "host=2; wide=3; safe=4", id="no-path-prefix"),
        pytest.param("https://xwww.shop.co.uk/a/b", "wide=3", id="other-host"),
        pytest.param("https://other.test/a/b", "", id="foreign"),
    ],
)
def test_cookies_are_sent_to_matching_urls_only(url: str, sent: str) -> None:
    lines = [
        "deep=1; Path=/a/b",
        "host=2; Path=/",
        "wide=3; Path=/; Domain=shop.co.uk",
        "safe=4; Path=/; Secure",
    ]
    jar = update_jar((), parse_set_cookies(lines, url=URL, now=NOW), now=NOW)

    assert build_cookie_header(jar, url=url, now=NOW + 1) == sent


@pytest.mark.parametrize(
    ("told", "lives_seconds"),
    [
        pytest.param("Max-Age=60; Expires=Wed, 01 Jan 1969 00:00:00 GMT", 60, id="age-wins"),
        pytest.param("Expires=Mon, 12-Jan-1970 13:47:40 GMT", 60, id="date"),
        pytest.param("Max-Age=99999999999", 400 * 86_400, id="cap"),
        pytest.param("Expires=never", 7 * 86_400, id="session"),
    ],
)
def test_a_cookie_expires_as_stated_within_a_limit(told: str, lives_seconds: float) -> None:
    cookie = _one(f"a=1; {told}")

    assert cookie is not None
    assert cookie.expires_at == NOW + lives_seconds


def test_a_jar_replaces_removes_and_holds_fifty_cookies() -> None:
    jar = update_jar((), parse_set_cookies(["a=1", "b=1"], url=URL, now=NOW), now=NOW)
    jar = update_jar(jar, parse_set_cookies(["a=2", "b=; Max-Age=0"], url=URL, now=NOW + 1), now=NOW + 1)
    assert [(cookie.name, cookie.value) for cookie in jar] == [("a", "2")]

    for number in range(60):
        jar = update_jar(
            jar, parse_set_cookies([f"c{number}=1"], url=URL, now=NOW + 2 + number), now=NOW + 90
        )
    assert [cookie.name for cookie in jar] == [f"c{number}" for number in range(10, 60)]


def test_the_cookie_header_has_a_size_limit() -> None:
    lines = [f"c{number}={'x' * 3000}" for number in range(9)]
    jar = update_jar((), parse_set_cookies(lines, url=URL, now=NOW), now=NOW)

    assert len(build_cookie_header(jar, url=URL, now=NOW)) == 2 * 3003 + 2


async def test_an_unavailable_store_costs_cookies_and_no_page() -> None:
    """Before the request it pauses; after it, the page is worth more."""

    class Down(MemoryCookieJars):
        async def update(self, *_: object, **__: object) -> None:
            raise Unavailable("redis", "down")

    jars = CookieJars(Down(), clock=EventLoopClock())

    assert await jars.store_cookies(a_request(cookie_jar="run"), a_response(set_cookie="a=1"), ()) is False
