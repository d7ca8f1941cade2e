"""The client over the network, where no API responds."""

from __future__ import annotations

import socket

import pytest

from strider.client import ApiUnreachable, ClientOptions, StriderClient
from strider.client.retries import CLIENT_RETRY


def test_a_port_without_a_server_is_unreachable() -> None:
    """After all retries; each of them waits."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    waits = list[float]()
    options = ClientOptions(f"http://127.0.0.1:{port}", sleep=waits.append)

    with (
        StriderClient("", options=options) as client,
        pytest.raises(ApiUnreachable, match=f"127.0.0.1:{port} does not answer: .*tried 5 times"),
    ):
        client.jobs.get("j1")

    assert len(waits) == CLIENT_RETRY.retries


def test_a_server_without_a_response_is_unreachable_after_the_time_limit() -> None:
    """The system accepts the connection, and no program responds."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        options = ClientOptions(url, timeout_seconds=0.05, sleep=lambda _seconds: None)
        with (
            StriderClient("", options=options) as client,
            pytest.raises(ApiUnreachable, match=r"no response within 0.05 s, tried 5 times"),
        ):
            client.jobs.get("j1")
