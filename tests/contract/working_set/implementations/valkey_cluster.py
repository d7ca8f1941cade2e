"""A Valkey cluster of a few nodes on loopback, each with its share of the slots and no replica.

What runs in one script must lie in one slot: only a cluster refuses what does not.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from redis import Redis
from redis.exceptions import RedisError

from strider.localstack.servers.binaries import find_valkey
from strider.localstack.servers.ports import choose_ports

SLOTS: Final = 16384
READY_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.05
LOOPBACK: Final = "127.0.0.1"


@contextmanager
def valkey_cluster(directory: Path, *, nodes: int = 3) -> Iterator[tuple[str, int]]:
    """Start a cluster; gives host and port of one of its nodes."""
    names = tuple(f"{kind}-{number}" for number in range(nodes) for kind in ("node", "bus"))
    ports = choose_ports(names, directory, remembered={})
    with ExitStack() as running:
        clients = []
        for number in range(nodes):
            place = directory / str(number)
            own = (ports[f"node-{number}"], ports[f"bus-{number}"])
            clients.append(running.enter_context(_node(place, own)))
            _ask(clients[number], "ADDSLOTSRANGE", number * SLOTS // nodes, (number + 1) * SLOTS // nodes - 1)
            if number:
                _ask(clients[0], "MEET", LOOPBACK, *own)
        for client in clients:
            _wait_for(lambda client=client: _is_whole(client, nodes))  # type: ignore[misc]  # bound now
        yield LOOPBACK, ports["node-0"]


@contextmanager
def _node(directory: Path, ports: tuple[int, int]) -> Iterator[Redis]:
    directory.mkdir(parents=True)
    port, bus_port = map(str, ports)
    words = ["--bind", LOOPBACK, "--port", port, "--dir", str(directory), "--save", ""]
    cluster = ["--cluster-enabled", "yes", "--cluster-port", bus_port]
    with (directory / "server.log").open("wb") as log:
        process = subprocess.Popen(  # a program of our own wheels
            [str(find_valkey()), *words, *cluster], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    client = Redis(host=LOOPBACK, port=ports[0])
    try:
        _wait_for(client.ping)
        yield client
    finally:
        client.close()
        process.terminate()
        process.wait()


def _is_whole(client: Redis, nodes: int) -> bool:
    told: bytes = _ask(client, "INFO")
    return b"cluster_state:ok" in told and b"cluster_known_nodes:%d\r" % nodes in told


def _ask(client: Redis, *words: str | int) -> Any:
    return client.execute_command("CLUSTER", *words)  # type: ignore[no-untyped-call]  # the library's


def _wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            if condition():
                return
        except RedisError:
            if time.monotonic() > deadline:
                raise
        if time.monotonic() > deadline:
            raise TimeoutError("the cluster did not come together")
        time.sleep(LOOK_SECONDS)
