"""Limits of a server's connections, without sockets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.runtime.process.connection_table import ConnectionTable, client_of


def a_table(
    *, total: int = 4, per_client: int = 2, busy: frozenset[int] = frozenset()
) -> ConnectionTable[int]:
    return ConnectionTable(total=total, per_client=per_client, is_idle=lambda number: number not in busy)


def test_the_oldest_idle_connection_of_the_same_client_gives_way() -> None:
    table = a_table(busy=frozenset({1}))
    for number in (1, 2):
        assert table.admit("a", number) == (True, None)

    assert table.admit("a", 3) == (True, 2)
    assert len(table) == 2


def test_a_client_whose_connections_are_all_at_work_is_refused() -> None:
    table = a_table(busy=frozenset({1, 2}))
    table.admit("a", 1)
    table.admit("a", 2)

    assert table.admit("a", 3) == (False, None)
    assert table.admit("b", 4) == (True, None)


def test_in_all_the_client_with_most_connections_gives_way() -> None:
    table = a_table(per_client=3)
    for client, number in (("b", 1), ("a", 2), ("a", 3), ("a", 4)):
        table.admit(client, number)

    assert table.admit("c", 5) == (True, 2)


def test_where_all_are_at_work_a_further_client_is_refused() -> None:
    table = a_table(busy=frozenset(range(10)))
    for number in range(4):
        table.admit(f"client {number}", number)

    assert table.admit("further", 9) == (False, None)


def test_a_closed_connection_can_be_replaced() -> None:
    table = a_table(busy=frozenset({1, 2, 3}))
    table.admit("a", 1)
    table.admit("a", 2)
    table.remove(1)
    table.remove(1)

    assert table.admit("a", 3) == (True, None)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans()), max_size=60),
    st.integers(1, 6),
    st.integers(1, 6),
)
def test_no_limit_is_ever_exceeded(steps: list[tuple[str, bool, bool]], total: int, per_client: int) -> None:
    """Whatever comes and goes, and whichever connections are at work; one that works is never displaced."""
    busy: set[int] = set()
    table = ConnectionTable[int](total=total, per_client=per_client, is_idle=lambda n: n not in busy)
    held: dict[int, str] = {}
    for number, (client, works, leaves) in enumerate(steps):
        is_admitted, displaced = table.admit(client, number)
        if displaced is not None:
            assert displaced not in busy
            del held[displaced]
        if is_admitted:
            held[number] = client
        if is_admitted and works:
            busy.add(number)
        if leaves and held:
            first = next(iter(held))
            table.remove(first)
            del held[first]

        assert len(table) == len(held) <= total
        assert all(list(held.values()).count(each) <= per_client for each in "abc")


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("/run/socket", "/run/socket"),
    ],
)
def test_what_counts_as_one_client(address: str, client: str) -> None:
    assert client_of(address) == client
