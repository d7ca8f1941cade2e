"""Generated sites whose names a name server of the test knows, at given ports."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from .name_server import NameServer, Zone, serve_names
from .site import ServedSite, SiteShape, serve_site

DOMAIN: Final = "test"
TTL_SECONDS: Final = 1
"""So that the fetcher looks the names of sites up again and again."""
START_SECONDS: Final = 10.0


def own_address(network: int) -> str:
    """Return a loopback address in 127.NETWORK.0.0 that no other process of this kind uses."""
    return f"127.{network}.{os.getpid() // 250 % 250}.{os.getpid() % 250 + 1}"


def free_port(address: str, ports: Sequence[int]) -> int:
    """Return the first of these ports that is free on an address."""
    for port in ports:
        with socket.socket() as trial, suppress(OSError):
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((address, port))
            trial.listen()
            return port
    raise RuntimeError(f"none of the ports {sorted(ports)} is free on {address}: end what listens there")


@dataclass(slots=True)
class NamedSites:
    """A name server, and the sites that are found by it."""

    server: NameServer
    ports: Sequence[int]
    """Ports that a site may have; none that URLs leave out, as the site's plan has it."""
    zones: dict[str, Zone]
    """Zones of the server, to which tests add theirs."""

    def queries(self, ending: str) -> int:
        """Return how often names with this ending were looked up."""
        return sum(count for name, count in list(self.server.queries.items()) if name.endswith(ending))

    @contextmanager
    def serve(self, seed: int, shape: SiteShape, *, log: Path, name: str) -> Iterator[ServedSite]:
        """Serve a site by names and at an address of its own; the arguments are those of `serve_site`."""
        address = own_address(seed)
        zone = Zone((address,), ttl=TTL_SECONDS)
        self.zones.update({f"{name}{number}.{DOMAIN}": zone for number in range(shape.hosts)})
        port = free_port(address, self.ports)
        with serve_site(seed, shape, log=log, name=name, domain=DOMAIN, address=address, port=port) as site:
            yield site


@contextmanager
def named_sites(ports: Sequence[int]) -> Iterator[NamedSites]:
    """Serve names in a thread of their own while the context lasts."""
    zones: dict[str, Zone] = {}
    started: Future[tuple[NameServer, Callable[[], object]]] = Future()

    async def serve() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        async with serve_names(zones) as server:
            started.set_result((server, partial(loop.call_soon_threadsafe, stop.set)))
            await stop.wait()

    with ThreadPoolExecutor(1) as threads:
        serving = threads.submit(asyncio.run, serve())
        server, stop = started.result(START_SECONDS)
        try:
            yield NamedSites(server, ports, zones)
        finally:
            stop()
            serving.result(START_SECONDS)
