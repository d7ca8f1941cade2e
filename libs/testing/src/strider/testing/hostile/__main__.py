"""Serves every row on loopback until standard input ends: `python -m strider.testing.hostile [PORT]`."""

from __future__ import annotations

import asyncio
import sys

from . import ACCEPTED_CASES, FAILING_CASES, serve_hostile


async def serve(port: int) -> None:
    """Serve, and print where."""
    plays = {path: row.script for path, row in (FAILING_CASES | ACCEPTED_CASES).items()}
    async with serve_hostile(plays, port=port) as hostile:
        for path, row in (FAILING_CASES | ACCEPTED_CASES).items():
            print(hostile.url(path), row.description, sep="  ", flush=True)  # what it is for
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
