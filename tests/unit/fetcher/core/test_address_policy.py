"""Which addresses and ports are allowed beyond the public internet."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from strider.fetcher.core import AddressPolicy

INNER = AddressPolicy(
    allowed_networks=(ip_network("10.1.0.0/16"), ip_network("fd00::/8"), ip_network("169.254.0.0/16"))
)
WEB = AddressPolicy(allowed_ports=frozenset({80, 443, 8080}))


@pytest.mark.parametrize(
    ("address", "is_open"),
    [
        pytest.param("93.184.216.34", True, id="public"),
        pytest.param("10.1.2.3", True, id="within-an-open-network"),
        pytest.param("10.2.2.3", False, id="within-another"),
        pytest.param("fd12::1", True, id="within-an-open-network-v6"),
        pytest.param("fd00:ec2::254", False, id="a-vault-stays-closed-v6"),
        pytest.param("169.254.169.254", False, id="a-vault-stays-closed"),
        pytest.param("127.0.0.1", False, id="loopback"),
    ],
)
def test_networks_are_allowed_one_by_one(address: str, is_open: bool) -> None:
    """An intranet may be crawled without allowing the machine itself."""
    in_url = f"[{address}]" if ":" in address else address

    assert (INNER.address_refusal(address) is None) is is_open
    assert (INNER.host_refusal(in_url) is None) is is_open


@pytest.mark.parametrize(
    ("url", "is_open"),
    [
        pytest.param("http://a.test/", True, id="http"),
        pytest.param("https://a.test/:99", True, id="https"),
        pytest.param("http://a.test:8080/", True, id="listed"),
        pytest.param("http://a.test.:22/", False, id="behind-a-dot"),
        pytest.param("https://a.test:6379/", False, id="a-database"),
        pytest.param("http://[2001:db8::1]:25/", False, id="mail-v6"),
        pytest.param("http://[2001:db8::1]/", True, id="http-v6"),
    ],
)
def test_pages_are_fetched_from_web_ports_only(url: str, is_open: bool) -> None:
    """Most other ports serve a protocol that a request might trigger."""
    assert WEB.is_port_allowed(url) is is_open
    assert AddressPolicy(allow_private=True, allowed_ports=WEB.allowed_ports).is_port_allowed(url) is is_open
    assert AddressPolicy().is_port_allowed(url)


@pytest.mark.fault("A12", part="ports where private addresses are allowed")
@pytest.mark.parametrize(
    ("url", "is_open"),
    [
        pytest.param("http://127.0.0.1:6379/", True, id="loopback"),
        pytest.param("http://127.9.9.9:6379/", True, id="loopback-network"),
        pytest.param("http://[::1]:6379/", True, id="loopback-v6"),
        pytest.param("http://a.localhost:6379/", True, id="loopback-by-name"),
        pytest.param("http://10.0.0.5:8080/", True, id="private-web-port"),
        pytest.param("http://10.0.0.5:6379/", False, id="private-database"),
        pytest.param("http://[fd00::5]:5432/", False, id="private-database-v6"),
        pytest.param("http://db.internal:9092/", False, id="private-by-name"),
        pytest.param("http://localhost.evil.test:6379/", False, id="no-loopback-name"),
    ],
)
def test_allowed_private_addresses_have_web_ports_and_loopback_every_port(url: str, is_open: bool) -> None:
    policy = AddressPolicy(allow_private=True, allowed_ports=WEB.allowed_ports)

    assert policy.is_port_allowed(url) is is_open
