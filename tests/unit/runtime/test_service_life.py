"""How a process ends: which of several wishes decides the exit code."""

from __future__ import annotations

import asyncio

import pytest

from strider.runtime.exits import ExitCode
from strider.runtime.service_life import Life


class Ending(Life):
    """A life whose start is not needed for what is asked of it."""

    def __init__(self) -> None:
        self._code = None
        self._ending = asyncio.Event()


@pytest.mark.parametrize(
    ("wishes", "code"),
    [
        pytest.param([ExitCode.OK], ExitCode.OK, id="asked"),
        pytest.param([ExitCode.OK, ExitCode.FAILED], ExitCode.FAILED, id="asked-and-failed-on-the-way"),
        pytest.param([ExitCode.FAILED, ExitCode.OK], ExitCode.FAILED, id="failed-and-asked"),
        pytest.param([ExitCode.STALLED, ExitCode.FAILED], ExitCode.STALLED, id="the-first-fault-counts"),
    ],
)
async def test_the_first_wish_counts_and_a_fault_outweighs_an_orderly_one(
    wishes: list[ExitCode], code: ExitCode
) -> None:
    life = Ending()
    for wish in wishes:
        life.end(wish)

    assert life._code == code
