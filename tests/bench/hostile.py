"""What each row of the hostile server costs: time and memory of the process that asks.

`python -m tests.bench.hostile` measures and writes docs/security.json; docs/security.md is written from
it and from the table of rows. The server is a process of its own, so that the memory is ours alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path

from strider.testing.hostile import ACCEPTED_CASES, DEADLINE_MS, FAILING_CASES, LIMIT_BYTES
from tests.integration.fetcher.http.runner import RunnerHarness, request, running_client

from .measure import resident_mib

TOGETHER = 8
"""Requests of one row at a time: a memory that each of them took would show eight times."""

FIGURES = Path(__file__).parents[2] / "docs" / "security.json"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one row came to and took."""

    path: str
    outcome: str
    error: str
    seconds: float
    """The longest of the requests."""
    memory_mib: float
    """How far the resident set rose above what it was before, at its peak, over all of them."""


@contextlib.asynccontextmanager
async def hostile_process() -> AsyncIterator[str]:
    """Run the server; gives its origin."""
    command = (sys.executable, "-m", "strider.testing.hostile")
    server = subprocess.Popen(  # noqa: ASYNC220  # starting takes no time
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        first = await asyncio.to_thread(server.stdout.readline)
        for _ in range(len(FAILING_CASES) + len(ACCEPTED_CASES) - 1):
            await asyncio.to_thread(server.stdout.readline)
        yield first[: first.index("/", 8)]
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
        if server.stdin is not None:
            server.stdin.close()


async def measure() -> list[Cost]:
    """Ask every row, and say what it took."""
    async with hostile_process() as origin, running_client() as asker:
        await _row(asker, origin, "/ok")  # what is read and made once is no row's cost
        return [await _row(asker, origin, path) for path in (FAILING_CASES | ACCEPTED_CASES)]


async def _row(asker: RunnerHarness, origin: str, path: str) -> Cost:
    before = resident_mib("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # noqa: ASYNC240  # resets the peak
    seconds: list[float] = []

    async def once() -> tuple[str, str]:
        began = time.monotonic()
        wanted = request(origin + path, max_body_bytes=LIMIT_BYTES, deadline_ms=DEADLINE_MS)
        told = (await asker.fetch(wanted)).completed
        seconds.append(time.monotonic() - began)
        return told.outcome, told.error_class

    outcomes = {*await asyncio.gather(*(once() for _ in range(TOGETHER)))}
    outcome, error = outcomes.pop() if len(outcomes) == 1 else ("several", str(sorted(outcomes)))
    risen = max(0.0, resident_mib("VmHWM") - before)
    return Cost(path, outcome, error, round(max(seconds), 2), round(risen, 1))


def main() -> None:
    """Measure and write."""
    costs = asyncio.run(measure())
    FIGURES.write_text(json.dumps([asdict(cost) for cost in costs], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
