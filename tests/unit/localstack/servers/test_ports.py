from __future__ import annotations

from pathlib import Path

import pytest

from strider.localstack.errors import SetupFailure
from strider.localstack.servers.ports import FIRST_PORT, PORTS, choose_ports

HOME = Path("/somewhere/.strider")


def test_ports_are_chosen_below_the_range_of_outgoing_connections() -> None:
    """A port of that range may be taken by any connection while the stack is down."""
    chosen = choose_ports(("kafka", "redis"), HOME, remembered={}, free=lambda _port: True)

    assert all(FIRST_PORT <= port < FIRST_PORT + PORTS <= 32768 for port in chosen.values())
    assert len(set(chosen.values())) == 2


def test_the_same_home_gets_the_same_ports() -> None:
    """People write them down, even where nothing remembers them."""
    one = choose_ports(("kafka", "redis"), HOME, remembered={}, free=lambda _port: True)
    other = choose_ports(("kafka", "redis"), HOME, remembered={}, free=lambda _port: True)

    assert one == other


def test_a_stored_port_is_kept_while_it_is_free() -> None:
    chosen = choose_ports(("kafka",), HOME, remembered={"kafka": 31001}, free=lambda _port: True)

    assert chosen == {"kafka": 31001}


def test_a_stored_port_that_is_taken_is_replaced() -> None:
    """A foreign server must not keep the stack from starting."""
    chosen = choose_ports(("kafka",), HOME, remembered={"kafka": 31001}, free=lambda port: port != 31001)

    assert chosen["kafka"] != 31001


def test_a_port_stored_for_another_name_is_not_reused() -> None:
    """The part that it belongs to may be down only for this moment."""
    (first,) = choose_ports(("kafka",), HOME, remembered={}, free=lambda _port: True).values()

    chosen = choose_ports(("redis",), HOME, remembered={"kafka": first}, free=lambda _port: True)

    assert chosen["redis"] != first


def test_the_lack_of_a_free_port_is_reported_in_one_line() -> None:
    with pytest.raises(SetupFailure, match=r"^no free port between 20000 and 31999"):
        choose_ports(("kafka",), HOME, remembered={}, free=lambda _port: False)
