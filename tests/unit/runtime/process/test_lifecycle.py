"""Lifecycle: which of several exit requests decides the exit code."""

from __future__ import annotations

import asyncio

import pytest

from strider.runtime.process.exit_codes import ExitCode
from strider.runtime.process.lifecycle import ServiceLifecycle


class Ending(ServiceLifecycle):
    """A lifecycle without a startup."""

    def __init__(self) -> None:
        self._code = None
        self._exit_requested = asyncio.Event()


@pytest.mark.parametrize(
    ("wishes", "code"),
    [
        pytest.param([ExitCode.OK], ExitCode.OK, id="requested"),
        pytest.param([ExitCode.OK, ExitCode.FAILED], ExitCode.FAILED, id="requested-and-failed-on-the-way"),
        pytest.param([ExitCode.FAILED, ExitCode.OK], ExitCode.FAILED, id="failed-and-requested"),
        pytest.param([ExitCode.STALLED, ExitCode.FAILED], ExitCode.STALLED, id="the-first-fault-counts"),
    ],
)
async def test_the_first_request_counts_and_a_fault_outweighs_an_orderly_one(
    wishes: list[ExitCode], code: ExitCode
) -> None:
    life = Ending()
    for wish in wishes:
        life.request_exit(wish)

    assert life._code == code
