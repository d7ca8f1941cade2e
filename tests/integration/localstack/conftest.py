"""One whole stack for the tests that need one: Kafka, PostgreSQL, Valkey and the example pair."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from strider.testing.temp_dirs import temp_server_directory

from .command import SMALL, Command, a_stack


@pytest.fixture(scope="module")
def whole() -> Iterator[Command]:
    """In a path with a blank, an umlaut and a comma, which shells, Java and Kafka all stumble over."""
    with temp_server_directory() as place:
        directory = place / "my päge, two"
        directory.mkdir()
        with a_stack(directory, *SMALL) as command:
            yield command
