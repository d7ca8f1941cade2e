"""Calls and writes of a Redis server, as reported by MONITOR."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_LINE = re.compile(r'^\+[\d.]+ \[\d+ (?P<who>[^\]]+)\] "(?P<command>[^"]+)"(?P<rest>.*)$')
_CALL = re.compile(r'\{(?P<shard>\d+)\}:header" "(?P<caller>(?:[^"\\]|\\.)+)"')
"""Callers without an epoch own no shard."""
_EPOCH_BYTES = 6
_CALLER_BYTES = 30
_READS = re.compile(
    "EXISTS|GET|H(EXISTS|GET|GETALL|KEYS|LEN|MGET|RANDFIELD|SCAN|VALS)|INFO|L(INDEX|LEN|RANGE)|MEMORY|"
    "S(ISMEMBER|MISMEMBER|MEMBERS|CARD)|TIME|TYPE|Z(CARD|COUNT|RANGE|RANGEBYSCORE|SCORE|MSCORE)"
)
"""Commands that change nothing; any other one counts as a write."""


@dataclass(slots=True)
class RedisCall:
    """One script call of an owner of a shard."""

    shard: int
    epoch: int
    cluster: str = ""
    writes: list[str] = field(default_factory=list)
    """Commands of the script that changed something."""


class RedisCallLog:
    """All calls since the log was opened."""

    def __init__(self) -> None:
        self.calls: list[RedisCall] = []

    def add(self, line: str) -> None:
        """Add a line of MONITOR. Lines of a script follow its call, since the server is single-threaded."""
        heard = _LINE.match(line)
        if heard is None:
            return
        command = heard["command"].upper()
        if heard["who"] != "lua":
            called = _CALL.search(heard["rest"]) if command == "FCALL" else None
            self.calls.append(
                RedisCall(int(called["shard"]), *_owner(called["caller"])) if called else RedisCall(-1, 0)
            )
        elif self.calls and not _READS.fullmatch(command):
            self.calls[-1].writes.append(command)

    def older(self, epochs: Sequence[int]) -> list[RedisCall]:
        """Return the calls of earlier owners than those of these epochs."""
        return [call for call in self.calls if call.shard >= 0 and call.epoch < epochs[call.shard]]


def _owner(caller: str) -> tuple[int, str]:
    """Return epoch and cluster in a caller's escaped description."""
    said = caller.encode("latin-1").decode("unicode_escape").encode("latin-1")
    return int.from_bytes(said[:_EPOCH_BYTES]), said[_CALLER_BYTES:].decode()


@asynccontextmanager
async def monitored(url: str) -> AsyncIterator[RedisCallLog]:
    """Monitor a server within the context."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=1 << 24)
    writer.write(b"MONITOR\r\n")
    assert await reader.readline() == b"+OK\r\n"
    account = RedisCallLog()

    async def listen() -> None:
        while line := await reader.readline():
            account.add(line.decode(errors="replace").rstrip())

    listening = asyncio.create_task(listen())
    try:
        yield account
    finally:
        listening.cancel()
        writer.close()
