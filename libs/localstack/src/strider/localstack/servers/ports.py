"""Ports of the stack: free ones of the loopback address, the same ones every time.

The search runs below the range of ephemeral ports, from an offset that follows from the stack's directory:
two checkouts seldom try the same port.
"""

from __future__ import annotations

import socket
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from strider.localstack.errors import SetupFailure

LOOPBACK: Final = "127.0.0.1"
FIRST_PORT: Final = 20000
PORTS: Final = 12000
"""20000 to 31999: below the ephemeral ports of Linux (32768) and macOS (49152)."""


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        # As servers do: a port with connections in TIME_WAIT counts as free.
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def choose_ports(
    names: Iterable[str],
    home: Path,
    *,
    remembered: Mapping[str, int],
    free: Callable[[int], bool] = is_free,
) -> dict[str, int]:
    """Return a port for each name: the remembered one where it is still free, else the next free one."""
    chosen: dict[str, int] = {}
    taken = set(remembered.values())
    start = zlib.crc32(str(home).encode()) % PORTS
    candidates = (FIRST_PORT + (start + step) % PORTS for step in range(PORTS))
    for name in names:
        last = remembered.get(name)
        if last is not None and free(last):
            chosen[name] = last
            continue
        chosen[name] = _next_free(candidates, taken, free)
    return chosen


def _next_free(candidates: Iterable[int], taken: set[int], free: Callable[[int], bool]) -> int:
    for port in candidates:
        if port not in taken and free(port):
            return port
    raise SetupFailure(
        f"no free port between {FIRST_PORT} and {FIRST_PORT + PORTS - 1} on {LOOPBACK}",
        remedy="stop what holds them, or look at `strider status` for a stack that still runs",
    )
