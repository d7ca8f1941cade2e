"""Serve every case on loopback: `python -m strider.testing.hostile [PORT]`.

Ends with its standard input.
"""

from __future__ import annotations

import asyncio
import sys

from . import ACCEPTED_CASES, FAILING_CASES, serve_hostile


async def serve(port: int) -> None:
    """Serve, and print the URLs."""
    plays = {path: row.script for path, row in (FAILING_CASES | ACCEPTED_CASES).items()}
    async with serve_hostile(plays, port=port) as hostile:
        for path, row in (FAILING_CASES | ACCEPTED_CASES).items():
            print(hostile.url(path), row.description, sep="  ", flush=True)  # the purpose of the command
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
