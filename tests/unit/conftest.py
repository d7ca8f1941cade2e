"""Unit tests are values in, values out: a socket here is a mistake, said at once."""

from __future__ import annotations

import socket
from typing import NoReturn

import pytest


def _refuse(*_args: object, **_kwargs: object) -> NoReturn:
    pytest.fail("a unit test opened a connection; tests that need one live in tests/integration")


@pytest.fixture(autouse=True)
def _no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("connect", "connect_ex", "bind", "listen"):
        monkeypatch.setattr(socket.socket, name, _refuse)


@pytest.fixture(autouse=True)
def _logging_as_before(logging_restored: None) -> None:
    """A command that was run here has set logging up as for a process: the next test starts without."""
