"""Libraries of functions that older versions have left in Redis: found, and let go when nobody uses them.

Which ones are used cannot be asked of Redis, so whoever runs says now and then that its own is. One of
ours that nobody has spoken for in a week goes. That is safe whoever is wrong: a process whose library
is gone loads it again with its next call, and never takes the other's away before its week is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from strider.runtime.errors import Unavailable
from strider.runtime.logs import logger
from strider.runtime.ports import Clock

from .errors import StoreRejected
from .keys import FUNCTION_LIBRARIES
from .redis import Redis

INTERVAL_SECONDS: Final = 3600.0
UNUSED_SECONDS: Final = 7 * 86_400
"""Longer than any change of versions takes."""

_log = logger("stores")


class FunctionLibraryCollector:
    """Looks after the libraries of one server whose names begin alike."""

    def __init__(self, redis: Redis, *, own: str, prefix: str, clock: Clock) -> None:
        self._redis = redis
        self._own = own
        self._prefix = prefix
        self._clock = clock
        self._key = FUNCTION_LIBRARIES("frontier")

    async def run(self) -> None:
        """Look now and then, until cancelled. What is denied or out of reach is tried again later."""
        while True:
            try:
                if gone := await self.collect():
                    _log.info("Old Libraries Dropped", libraries=gone)
            except (Unavailable, StoreRejected) as failure:
                _log.info("Libraries Not Looked After", why=str(failure))
            await self._clock.sleep(INTERVAL_SECONDS)

    async def collect(self) -> list[str]:
        """Speak for our own, note what else there is, drop what nobody spoke for; gives what was dropped."""
        now_seconds = int((await self._redis.command("TIME"))[0])
        found = await self._found()
        await self._redis.command("ZADD", self._key, now_seconds, self._own)
        for name in found:
            await self._redis.command("ZADD", self._key, "NX", now_seconds, name)
        unused = await self._redis.command("ZRANGEBYSCORE", self._key, "-inf", now_seconds - UNUSED_SECONDS)
        gone = []
        for name in (_text(each) for each in unused):
            if name in found and name != self._own:
                await self._drop(name)
                gone.append(name)
            await self._redis.command("ZREM", self._key, name)
        return gone

    async def _drop(self, name: str) -> None:
        try:
            await self._redis.command("FUNCTION", "DELETE", name)
        except StoreRejected:
            return  # somebody else was quicker

    async def _found(self) -> frozenset[str]:
        told = await self._redis.command("FUNCTION", "LIST", "LIBRARYNAME", f"{self._prefix}*")
        return frozenset(_name_of(library) for library in told)


def _name_of(library: Mapping[bytes, object] | Iterable[object]) -> str:
    """Read a library's name, from either form of the protocol."""
    if isinstance(library, Mapping):
        return _text(library[b"library_name"] if b"library_name" in library else library["library_name"])  # type: ignore[index]  # by version of the client
    words = list(library)
    return _text(words[[_text(word) for word in words[::2]].index("library_name") * 2 + 1])


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
