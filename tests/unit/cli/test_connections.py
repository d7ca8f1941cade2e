"""The broker of a command, and what is known of its services."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from strider.cli.connections import find_broker
from strider.localstack.process.identity import identify
from strider.localstack.stack_state import READY, STOPPED, StackState, write_state

BROKER = "127.0.0.1:20001"


@pytest.mark.parametrize(
    ("state", "allows", "bootstrap", "environment", "known"),
    [
        pytest.param(READY, True, "", {}, True, id="the stack does"),
        pytest.param(READY, True, BROKER, {}, True, id="the same by its address"),
        pytest.param(READY, False, "", {"STRIDER_ALLOW_PRIVATE": "true"}, False, id="only this shell would"),
        pytest.param(READY, True, "elsewhere:9092", {}, False, id="another broker"),
        pytest.param(STOPPED, True, BROKER, {}, False, id="a stack of yesterday"),
        pytest.param(READY, False, "elsewhere:9092", {"STRIDER_ALLOW_PRIVATE": "1"}, True, id="as given"),
    ],
)
def test_the_stack_decides_whether_private_addresses_are_crawled(  # noqa: PLR0917  # a row of a table
    tmp_path: Path, state: str, allows: bool, bootstrap: str, environment: dict[str, str], known: bool
) -> None:
    """A warning about what works is as wrong as none about what does not."""
    stack = StackState(
        state, "now", identify(os.getpid()), endpoints={"kafka": BROKER}, allows_private=allows
    )
    write_state(tmp_path / "stack.json", stack)

    target = find_broker(bootstrap, {"STRIDER_HOME": str(tmp_path), **environment}, tmp_path)

    assert target.allows_private is known
