"""Internal hosts are recognized in all spellings that were ever used to hide one."""

from __future__ import annotations

import pytest

from strider.urls import RefusedUrl, address_kind, address_refusal, host_kind
from strider.urls.refusals import REFUSAL_DETAILS, REFUSAL_REASONS

_PRIVATE = [
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.0.1.",
    "\uff11\uff12\uff17.0.0.1", "127。0。0。1", "0", "0.0.0.0",
    "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "169.254.1.1", "100.64.0.1", "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]", "[2002:7f00:1::]",
    "[2002:c0a8:101::1]", "[2001::1]", "[2001:db8::1]", "[3fff::1]", "[fe80::1]", "[fec0::1]", "[fc00::1]",
    "[fd12:3456::1]", "[ff02::1]", "[100::1]", "[5f00::1]", "[2a00::5efe:127.0.0.1]", "[fe80::5efe:8.8.8.8]",
    "localhost", "LOCALHOST.", "a.localhost", "printer.local", "db.internal", "redis.default.svc",
    "redis.default.svc.cluster.local", "router.home.arpa", "\uff4cocalhost",
]  # fmt: skip

_METADATA = [
    "169.254.169.254", "0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "169.254.43518",
    "[::ffff:169.254.169.254]",
    "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[fd00:ec2::254]", "[fe80::a9fe:a9fe]", "169.254.170.2",
    "100.100.100.200", "168.63.129.16", "metadata.google.internal", "METADATA.google.internal.", "metadata",
    "instance-data.ec2.internal",
]  # fmt: skip

_PUBLIC = [
    "8.8.8.8", "0x08080808", "1.1.1.1", "172.32.0.1", "100.128.0.1", "[2606:4700::1111]", "[2a00:1450::1]",
    "[::ffff:8.8.8.8]", "[64:ff9b::808:808]", "[2002:808:808::1]",
]  # fmt: skip

_NAMES = [
    "example.org",
    "localhost.example.org",
    "internal.example.org",
    "svc.test",
    "xn--bcher-kva.example",
    "redis",
]


@pytest.mark.fault("S1", "S2")
@pytest.mark.parametrize("host", _PRIVATE)
def test_private_hosts_are_seen(host: str) -> None:
    """S1, S2: a public page must not send the crawler into its own network."""
    assert host_kind(host) == "private"


@pytest.mark.parametrize("host", _METADATA)
def test_metadata_services_are_seen(host: str) -> None:
    """S6: they return credentials, so no setting may allow them."""
    assert host_kind(host) == "metadata"


@pytest.mark.parametrize("host", _PUBLIC)
def test_public_addresses_pass(host: str) -> None:
    """An IPv4 address embedded in an IPv6 one is classified by itself."""
    assert host_kind(host) == "public"


@pytest.mark.parametrize("host", _NAMES)
def test_other_names_are_left_to_the_socket(host: str) -> None:
    """Only a name server knows; the returned address is judged before connecting."""
    assert host_kind(host) == "name"


@pytest.mark.parametrize("host", ["", "a b", "a:99999", "\ud800", "[::1", "1.2.3.4.5", "a%00"])
def test_what_is_no_host_is_not_public(host: str) -> None:
    """A guard must refuse what it cannot parse."""
    assert host_kind(host) == "private"


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        pytest.param("93.184.215.14", "public", id="v4"),
        pytest.param("fe80::1%eth0", "private", id="zone"),
        pytest.param("::ffff:169.254.169.254", "metadata", id="mapped"),
        pytest.param("no address", "private", id="nonsense"),
    ],
)
def test_resolved_addresses_are_judged_alike(address: str, kind: str) -> None:
    """S4: the answer of a name server is as untrusted as the URL."""
    assert address_kind(address) == kind


def test_only_private_addresses_can_be_allowed() -> None:
    """STRIDER_ALLOW_PRIVATE allows private addresses, never cloud metadata."""
    private, metadata = (
        RefusedUrl("policy_blocked", "private_address"),
        RefusedUrl("policy_blocked", "metadata_address"),
    )

    assert [address_refusal(kind) for kind in ("public", "name", "private", "metadata")] == [
        None, None, private, metadata,
    ]  # fmt: skip
    assert address_refusal("private", allow_private=True) is None
    assert address_refusal("metadata", allow_private=True) == metadata


@pytest.mark.parametrize(
    ("refused", "text"),
    [
        (
            RefusedUrl("policy_blocked", "private_address"),
            "policy_blocked (private_address): private addresses are crawled only with STRIDER_ALLOW_PRIVATE",
        ),
        (RefusedUrl("bad_url", "without a scheme"), "bad_url: without a scheme"),
        (RefusedUrl("bad_url"), "bad_url: check its host and port"),
    ],
)
def test_a_refusal_is_explained(refused: RefusedUrl, text: str) -> None:
    assert refused.text == text


def test_every_refusal_has_an_explanation() -> None:
    assert all(
        RefusedUrl(reason, detail).explanation for reason in REFUSAL_REASONS for detail in REFUSAL_DETAILS
    )
