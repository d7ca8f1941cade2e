"""Proxies as values: parsed from URLs, displayed without credentials, with their health."""

from __future__ import annotations

import pytest

from strider.fetcher.core import MAX_CONSECUTIVE_FAILURES, Proxy, ProxyHealth, parse_proxy_url


@pytest.mark.req("S0.3.1", "S4.12.29", "S4.12.30")
@pytest.mark.parametrize(
    ("url", "proxy", "name"),
    [
        pytest.param("http://p.test:3128", Proxy("http", "p.test", 3128), "http://p.test:3128", id="http"),
        pytest.param("https://P.test/", Proxy("https", "p.test", 443), "https://p.test:443", id="https"),
        pytest.param("socks5h://p.test", Proxy("socks5", "p.test", 1080), "socks5://p.test:1080", id="socks"),
        pytest.param("p.test:1", Proxy("http", "p.test", 1), "http://p.test:1", id="bare"),
        pytest.param(
            "socks5://me:a%3A%40%2Fb@[::1]:9",
            Proxy("socks5", "::1", 9, "me", "a:@/b"),
            "socks5://[::1]:9",
            id="account",
        ),
    ],
)
def test_proxy_urls_are_parsed(url: str, proxy: Proxy, name: str) -> None:
    read = parse_proxy_url(url)

    assert (read, read.display_url) == (proxy, name)
    assert "a:@/b" not in repr(read)


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("ftp://geheim@p.test", id="scheme"),
        pytest.param("http://", id="none"),
        pytest.param("geheim", id="word"),
        pytest.param("http://u:geheim@p.test:0", id="no-port"),
        pytest.param("http://u:geheim@p.test:70000", id="large-port"),
        pytest.param("http://u:geheim@p.test/path", id="path"),
        pytest.param("http://u:gehe/im@p.test", id="unescaped"),
        pytest.param("http://u:geheim%0d%0a@p.test", id="control"),
    ],
)
def test_an_invalid_proxy_url_is_reported_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match="a proxy") as error:
        parse_proxy_url(url)

    assert "gehe" not in str(error.value)


@pytest.mark.req("S4.14.5", "S4.12.31", "S4.12.33", "S4.12.34", "S4.12.35")
def test_the_eleventh_failure_in_a_row_disables_a_proxy_and_one_success_forgives_ten() -> None:
    standing = ProxyHealth()
    for moment in range(MAX_CONSECUTIVE_FAILURES):
        standing = standing.after_failure(now=moment)
    forgiven = standing.after_success(now=50, seconds=0.2).after_success(now=60, seconds=0.4)
    disabled = standing.after_failure(now=70)

    assert forgiven == ProxyHealth(
        success_count=2, average_ms=pytest.approx(300), last_success_at=60, last_failure_at=9
    )
    assert disabled == ProxyHealth(is_active=False, failure_count=11, last_failure_at=70)
    assert disabled.reenabled().after_failure(now=80).is_active is False
    assert disabled.reenabled().after_success(now=80, seconds=1).failure_count == 0
