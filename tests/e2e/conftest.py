"""One set of servers and one ring for all end-to-end tests: each crawls a site of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from strider.testing.places import own_directory

from .ring import Ring, Servers


@pytest.fixture(scope="package")
def ring() -> Iterator[Ring]:
    with own_directory() as place:
        servers = Servers.start(place)
        (place / "logs").mkdir()
        ring = Ring(servers, place / "logs")
        try:
            asyncio.run(ring.start_all())
            yield ring
        finally:
            ring.close()
            servers.close()
