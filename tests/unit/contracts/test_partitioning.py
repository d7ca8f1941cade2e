"""The shard of a host is the same on every machine, for years."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest
from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts import ContractError, EncodeError, partitioning
from strider.contracts.partitioning import (
    SNAPSHOT_SHA256,
    SNAPSHOT_VERSION,
    host_of_url,
    key_partition,
    registrable_domain,
    shard_of_host,
)

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "shards.json").read_text(encoding="utf-8"))


def test_the_snapshot_is_the_pinned_one() -> None:
    """Another list would assign hosts to other owners, while their state stays with the old ones."""
    content = files("strider.contracts").joinpath("data", "public_suffix_list.dat").read_bytes()

    assert sha256(content).hexdigest() == SNAPSHOT_SHA256 == GOLDEN["sha256"]
    assert f"// VERSION: {SNAPSHOT_VERSION}".encode() in content
    assert GOLDEN["snapshot"] == SNAPSHOT_VERSION


@pytest.mark.parametrize("row", [pytest.param(row, id=row["host"]) for row in GOLDEN["hosts"]])
def test_hosts_stay_where_they_are(row: dict[str, object]) -> None:
    """The vectors were written once; a change of any library or rule that moves a host fails here."""
    host = str(row["host"])

    assert {
        "host": host,
        "domain": registrable_domain(host),
        "number": f"{shard_of_host(host, 1 << 64):016x}",
        "of_12": shard_of_host(host, 12),
        "of_96": shard_of_host(host, 96),
    } == row


def test_there_are_enough_vectors() -> None:
    assert len(GOLDEN["hosts"]) >= 100


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("example.org", "EXAMPLE.org", id="case"),
        pytest.param("example.org", "example.org.", id="trailing dot"),
        pytest.param("bücher.de", "xn--bcher-kva.de", id="unicode and punycode"),
        pytest.param("BÜCHER.de", "bücher.DE.", id="unicode, case and dot"),
        pytest.param("[2001:db8::1]", "2001:0db8:0:0:0:0:0:1", id="spellings of an IPv6 address"),
        pytest.param("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", id="an IPv4 address inside"),
    ],
)
def test_names_of_one_host_share_a_domain(one: str, other: str) -> None:
    assert registrable_domain(one) == registrable_domain(other)


def test_hosts_of_a_domain_share_a_shard_and_customers_of_a_platform_do_not_share_a_domain() -> None:
    """Politeness by domain is a local matter; a hosting platform must not be one huge group."""
    assert shard_of_host("a.example.co.uk", 96) == shard_of_host("b.c.example.co.uk", 96)
    assert registrable_domain("one.github.io") != registrable_domain("two.github.io")


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("", id="empty"),
        pytest.param(".", id="only a dot"),
        pytest.param("example.org:80", id="with a port"),
        pytest.param("[::1]:80", id="address with a port"),
        pytest.param("ü ber.org", id="no host name"),
    ],
)
def test_what_is_no_host_is_refused(host: str) -> None:
    """A port in the host would be a domain of its own, with two owners of one host."""
    with pytest.raises(EncodeError):
        shard_of_host(host, 12)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        pytest.param("https://user:secret@WWW.Example.org:8443/a?b#c", "example.org", id="all parts"),
        pytest.param("http://0x7f.1/", "127.0.0.1", id="an address in disguise"),
        pytest.param("http://[::1]:80/", "[::1]", id="IPv6 with a port"),
    ],
)
def test_a_url_is_in_the_shard_of_its_host(url: str, host: str) -> None:
    key = host_of_url(url)

    assert key is not None
    assert shard_of_host(key.decode(), 96) == shard_of_host(host, 96)


@pytest.mark.parametrize("url", ["", "no url", "/relative", "data:text/plain,x", "http://"])
def test_a_url_without_a_host_has_no_key(url: str) -> None:
    assert host_of_url(url) is None


def test_shards_are_evenly_filled() -> None:
    filled = Counter(shard_of_host(f"site-{number}.com", 96) for number in range(48_000))

    # 500 each, plus or minus 22: five standard deviations are far outside of chance.
    assert len(filled) == 96
    assert all(390 < count < 610 for count in filled.values())


@given(st.binary(max_size=200), st.integers(1, 500))
def test_keys_go_where_other_clients_put_them(key: bytes, partitions: int) -> None:
    """Java clients and aiokafka must find the same partition for the same key."""
    numbers = list(range(partitions))

    assert key_partition(key, partitions) == DefaultPartitioner()(key, numbers, numbers)


def test_the_cache_is_bounded() -> None:
    for number in range(partitioning.CACHED_HOSTS // 64):
        shard_of_host(f"host-{number}.example", 12)

    assert partitioning._host_shard.cache_info().maxsize == partitioning.CACHED_HOSTS


def test_a_changed_snapshot_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioning, "SNAPSHOT_SHA256", "0" * 64)
    partitioning._public_suffixes.cache_clear()
    try:
        with pytest.raises(ContractError, match="not the pinned snapshot"):
            registrable_domain("never-asked-before.example")
    finally:
        partitioning._public_suffixes.cache_clear()
