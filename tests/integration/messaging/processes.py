"""Programs that tests start, kill and stop; their lines are gathered as they come."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SETTLE_SECONDS = 40.0


async def until(condition: Callable[[], bool] | Callable[[], Awaitable[bool]], *, what: str) -> None:
    """Look again until the condition holds, or fail naming it."""
    deadline = asyncio.get_running_loop().time() + SETTLE_SECONDS
    while True:
        found = condition()
        if found if isinstance(found, bool) else await found:
            return
        assert asyncio.get_running_loop().time() < deadline, f"never came true: {what}"
        await asyncio.sleep(0.05)


class Program:
    """One of the programs of this folder."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self.lines: list[str] = []
        self._process = process
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, name: str, script: str, *arguments: str) -> Program:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-W",
            "error",
            str(HERE / script),
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        return cls(name, process)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self.lines.append(line.decode().strip())

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    @property
    def owned(self) -> frozenset[tuple[str, int]]:
        """What the last event left this member with."""
        events = [e for e in self.events if e["event"] in {"assigned", "revoked"}]
        if not events or events[-1]["event"] == "revoked" or self._process.returncode is not None:
            return frozenset()
        return frozenset((topic, number) for topic, number in events[-1]["owned"])

    @property
    def shards(self) -> frozenset[int]:
        return frozenset(number for _, number in self.owned)

    def send(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            self._process.send_signal(number)

    async def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        await self._process.stdin.drain()

    async def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        self.send(signal.SIGCONT)
        self.send(number)
        await self._process.wait()
        await self._reading
