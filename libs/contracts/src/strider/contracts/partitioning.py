"""Shard of a host, and Kafka partition of a key.

shard(host) = BLAKE2b-64(registrable domain) mod N, over a snapshot of the public suffix list (private section
included) that is pinned for the life of the topics: another list or another hash would assign hosts to new
owners while their state stays with the old ones. `tests/golden/shards.json` has the expected results. Must
not know brokers or the number of shards.
"""

from __future__ import annotations

import struct
from functools import cache, lru_cache
from hashlib import blake2b, sha256
from importlib.resources import files
from typing import Final, NamedTuple

import can_ada
from publicsuffixlist import PublicSuffixList

from .errors import ContractError, EncodeError

SNAPSHOT_VERSION: Final = "2026-10-22_08-36-41_UTC"
"""Version line of the list, which is published under the MPL 2.0."""

SNAPSHOT_SHA256: Final = "0232f4df0831911356e8ee1f4d5c3b6b12c0ed3f6bd66b0f81c8ab5d3d49e9ca"
"""Checked when the list is loaded: one changed rule moves hosts to other owners."""

CACHED_HOSTS: Final = 32_768
"""About 8 MB when full. A shard's owner meets the same hosts again and again."""

_MURMUR_SEED: Final = 0x9747B28C
_MURMUR_FACTOR: Final = 0x5BD1E995
_UINT32_MASK: Final = 0xFFFFFFFF
_INT32_MASK: Final = 0x7FFFFFFF


class _HostShard(NamedTuple):
    """Registrable domain of a host, and the number that its shard is computed from."""

    domain: str
    hash_number: int


def registrable_domain(host: str) -> str:
    """Return the registrable domain of a host; addresses and single labels are their own domain."""
    return _host_shard(host).domain


def shard_of_host(host: str, shards: int) -> int:
    """Return the shard of a host (a name or an address as in URLs, without port)."""
    return _host_shard(host).hash_number % shards


def key_partition(key: bytes, partitions: int) -> int:
    """Return the partition that Java clients and aiokafka choose for a key: positive murmur2, modulo."""
    return (_murmur2(key) & _INT32_MASK) % partitions


@lru_cache(maxsize=CACHED_HOSTS)
def _host_shard(host: str) -> _HostShard:
    domain = _registrable_domain(_canonical_host(host))
    digest = blake2b(domain.encode(), digest_size=8).digest()
    return _HostShard(domain, int.from_bytes(digest, "big"))


def _canonical_host(host: str) -> str:
    """Normalize spellings of one host: case, a trailing dot, Unicode labels, forms of an IPv6 address."""
    plain = host
    if ":" in host:
        plain = _parsed_host(f"[{host.removeprefix('[').removesuffix(']')}]")
    elif not host.isascii():
        plain = _parsed_host(host)
    plain = plain.lower().removesuffix(".")
    if not plain:
        raise EncodeError("cannot compute a shard: the host is empty")
    return plain


def _parsed_host(host: str) -> str:
    """Normalize a host with the URL parser, so that it equals the host of the URLs it comes from."""
    try:
        return can_ada.parse(f"http://{host}/").hostname
    except ValueError as failure:
        raise EncodeError(f"invalid host (expected without port): {host[:200]!r}") from failure


def _registrable_domain(host: str) -> str:
    # A last label of digits can only be an IPv4 address (WHATWG URL, "ends in a number").
    if host.startswith("[") or host.rpartition(".")[2].isdigit():
        return host
    return _public_suffixes().privatesuffix(host) or host


@cache
def _public_suffixes() -> PublicSuffixList:
    content = files("strider.contracts").joinpath("data", "public_suffix_list.dat").read_bytes()
    if sha256(content).hexdigest() != SNAPSHOT_SHA256:
        raise ContractError("data/public_suffix_list.dat is not the pinned snapshot: shards would change")
    return PublicSuffixList(content)


def _murmur2(key: bytes) -> int:
    whole = len(key) & ~3
    mixed = _MURMUR_SEED ^ len(key)
    for (word,) in struct.iter_unpack("<I", key[:whole]):
        word = word * _MURMUR_FACTOR & _UINT32_MASK  # noqa: PLW2901  # the algorithm's own shape
        word = (word ^ word >> 24) * _MURMUR_FACTOR & _UINT32_MASK  # noqa: PLW2901  # same
        mixed = mixed * _MURMUR_FACTOR & _UINT32_MASK ^ word
    if rest := key[whole:]:
        mixed = (mixed ^ int.from_bytes(rest, "little")) * _MURMUR_FACTOR & _UINT32_MASK
    mixed = (mixed ^ mixed >> 13) * _MURMUR_FACTOR & _UINT32_MASK
    return mixed ^ mixed >> 15


def host_of_url(url: str) -> bytes | None:
    """Return the host of a URL as a message key; None for an invalid URL, so that any partition takes it."""
    try:
        host = can_ada.parse(url).hostname
    except ValueError:
        return None
    return host.encode() if host else None
