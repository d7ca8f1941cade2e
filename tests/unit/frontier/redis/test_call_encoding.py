"""The arguments of scripts, in bytes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from strider.frontier.models import HostGroupState, SeenBatch
from strider.frontier.redis.call_encoding import (
    SEEN_PER_CALL,
    ScopeNumbers,
    encode_fingerprint,
    encode_host_groups,
    encode_lease_id,
    encode_seen_batches,
)


@pytest.mark.parametrize("fingerprint", [0, 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1])
def test_a_fingerprint_is_nineteen_digits_of_a_signed_number(fingerprint: int) -> None:
    """Scripts cut them by position, and only integers keep a set packed."""
    told = encode_fingerprint(fingerprint)

    assert len(told) == 19
    assert told.isdigit()
    assert 10**18 <= int(told) < 2**63


def test_neighbours_stay_apart() -> None:
    """64 bits are folded into 63, no further."""
    told = [encode_fingerprint(2**63 + number) for number in range(1_000)]

    assert all(int(b) - int(a) == 1 for a, b in pairwise(told))


def test_scopes_are_passed_once_in_the_order_of_their_numbers() -> None:
    scopes = ScopeNumbers()

    assert [scopes.number(name) for name in ("b", "a", "b", "ü")] == [0, 1, 0, 2]
    assert scopes.names() == [b"b", b"a", "ü".encode()]


@pytest.mark.parametrize("name", [f"7-3-{2**70}", f"7-{2**80:x}-1", "nonsense"])
def test_a_lease_id_out_of_range_is_encoded_as_one_that_was_never_issued(name: str) -> None:
    """A message may say anything; packing must not fail the whole batch."""
    assert len(encode_lease_id(name)) == 12


def test_settings_of_a_group_out_of_range_are_encoded_as_the_nearest_possible() -> None:
    wrong = HostGroupState("a", delay_ms=2**40, max_in_flight=10**6, blocked_until_ms=-1, not_before_ms=2**60)

    assert encode_host_groups([wrong]) == (
        b"\xff\xff\xff\xfe" + bytes(4) + b"\xff\xfe" + bytes(12) + b"\xff" * 6 + bytes(6) + b"\x00\x01a"
    )


def test_seen_batches_are_divided_into_calls_of_limited_size() -> None:
    """The server does nothing else during a call."""
    seen = [SeenBatch("a", 1, [1]), SeenBatch("b", 2, range(SEEN_PER_CALL + 1)), SeenBatch("c", 3, [])]

    calls = list(encode_seen_batches(seen))

    sizes = [[(scope, at, len(packed) // 19) for scope, at, packed in _triples(args)] for args in calls]
    assert sizes == [[("a", 1, 1)], [("b", 2, SEEN_PER_CALL)], [("b", 2, 1)]]
    assert list(encode_seen_batches([])) == []


def _triples(args: list[Any]) -> list[tuple[str, int, bytes]]:
    return list(zip(args[::3], args[1::3], args[2::3], strict=True))
