"""One set of servers and one ring for all end-to-end tests: each crawls a site of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .pipeline import Ring, running_ring


@pytest.fixture(scope="package")
def ring() -> Iterator[Ring]:
    with running_ring() as ring:
        yield ring
