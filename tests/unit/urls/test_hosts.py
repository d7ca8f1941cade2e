"""Host, origin and domain of a URL."""

from __future__ import annotations

import pytest

from strider.urls import domain_of, host_group_of, host_of, origin_of, to_wire_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param(
            "https://WWW.Example.co.uk.:8443/x",
            ("www.example.co.uk", "https://www.example.co.uk:8443", "example.co.uk"),
            id="name",
        ),
        pytest.param("http://[::1]:8080/", ("[::1]", "http://[::1]:8080", "[::1]"), id="ipv6-and-port"),
        pytest.param("http://[::1]/", ("[::1]", "http://[::1]", "[::1]"), id="ipv6"),
        pytest.param("http://10.0.0.1:81/", ("10.0.0.1", "http://10.0.0.1:81", "10.0.0.1"), id="ipv4"),
        pytest.param("http://localhost/", ("localhost", "http://localhost", "localhost"), id="single-label"),
        pytest.param(
            "http://a.github.io/", ("a.github.io", "http://a.github.io", "a.github.io"), id="private-suffix"
        ),
    ],
)
def test_host_origin_and_domain(url: str, expected: tuple[str, str, str]) -> None:
    """Politeness is by host, robots.txt by origin, shards by domain."""
    found = to_wire_url(url)
    assert isinstance(found, str)

    assert (host_of(found), origin_of(found), domain_of(found)) == expected


@pytest.mark.req("S3.5.1")
@pytest.mark.parametrize(
    ("url", "by_domain", "group"),
    [
        pytest.param("http://www.a.test:8080/x", False, "www.a.test", id="host-without-port"),
        pytest.param("http://www.a.test/x", True, "a.test", id="domain"),
        pytest.param("http://[::1]:80/", False, "[::1]", id="address"),
    ],
)
def test_a_host_group_is_a_host_or_a_domain(url: str, by_domain: bool, group: str) -> None:
    assert host_group_of(url, by_domain=by_domain) == group
