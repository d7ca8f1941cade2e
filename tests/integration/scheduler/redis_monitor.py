"""What a Redis was asked to do, and what was done there, by its own account (MONITOR)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_LINE = re.compile(r'^\+[\d.]+ \[\d+ (?P<who>[^\]]+)\] "(?P<command>[^"]+)"(?P<rest>.*)$')
_CALL = re.compile(r'\{(?P<shard>\d+)\}:header" "(?P<caller>(?:[^"\\]|\\.)+)"')
"""Who owns nothing says nothing of itself."""
_EPOCH_BYTES = 6
_READS = re.compile(
    "EXISTS|GET|H(EXISTS|GET|GETALL|KEYS|LEN|MGET|RANDFIELD|SCAN|VALS)|INFO|L(INDEX|LEN|RANGE)|MEMORY|"
    "S(ISMEMBER|MISMEMBER|MEMBERS|CARD)|TIME|TYPE|Z(CARD|COUNT|RANGE|RANGEBYSCORE|SCORE|MSCORE)"
)
"""Commands that change nothing; any other one counts as a write."""


@dataclass(slots=True)
class Call:
    """One script call of an owner of a shard."""

    shard: int
    epoch: int
    writes: list[str] = field(default_factory=list)
    """Commands of the script that changed something."""


class Account:
    """Everything that was done since it was opened."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def hear(self, line: str) -> None:
        """Take one line. Those of a script follow its call, since a server does one thing at a time."""
        heard = _LINE.match(line)
        if heard is None:
            return
        command = heard["command"].upper()
        if heard["who"] != "lua":
            called = _CALL.search(heard["rest"]) if command == "FCALL" else None
            self.calls.append(Call(int(called["shard"]), _epoch(called["caller"])) if called else Call(-1, 0))
        elif self.calls and not _READS.fullmatch(command):
            self.calls[-1].writes.append(command)

    def older(self, epochs: Sequence[int]) -> list[Call]:
        """Give the calls of owners before those of these epochs."""
        return [call for call in self.calls if call.shard >= 0 and call.epoch < epochs[call.shard]]


def _epoch(caller: str) -> int:
    """Take the epoch out of what a caller says of itself, which is told escaped."""
    said = caller.encode("latin-1").decode("unicode_escape").encode("latin-1")
    return int.from_bytes(said[:_EPOCH_BYTES])


@asynccontextmanager
async def monitored(url: str) -> AsyncIterator[Account]:
    """Listen to a server for a while."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=1 << 24)
    writer.write(b"MONITOR\r\n")
    assert await reader.readline() == b"+OK\r\n"
    account = Account()

    async def listen() -> None:
        while line := await reader.readline():
            account.hear(line.decode(errors="replace").rstrip())

    listening = asyncio.create_task(listen())
    try:
        yield account
    finally:
        listening.cancel()
        writer.close()
