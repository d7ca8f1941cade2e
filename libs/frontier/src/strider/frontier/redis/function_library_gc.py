"""Deletion of unused function libraries that older versions left in Redis.

Redis does not know which libraries are in use, so each process regularly records the use of its own. A
library of ours without a record for a week is deleted. A wrong deletion does no harm: a process whose library
is gone loads it again with its next call, and deletes another's only after its week is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from strider.frontier import log_events
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.storage.errors import StoreRejected
from strider.storage.keys import FUNCTION_LIBRARIES
from strider.storage.redis import Redis

INTERVAL_SECONDS: Final = 3600.0
UNUSED_SECONDS: Final = 7 * 86_400
"""Longer than any rolling upgrade takes."""

_log = logger("frontier")


class FunctionLibraryCollector:
    """Deletes unused libraries of one server that share a name prefix."""

    def __init__(self, redis: Redis, *, own: str, prefix: str, clock: Clock) -> None:
        self._redis = redis
        self._own = own
        self._prefix = prefix
        self._clock = clock
        self._key = FUNCTION_LIBRARIES("frontier")

    async def run(self) -> None:
        """Run regularly, until cancelled. A refused or failed pass is repeated with the next."""
        while True:
            try:
                if gone := await self.collect():
                    _log.emit(log_events.FUNCTION_LIBRARIES_DELETED, libraries=gone)
            except (Unavailable, StoreRejected) as failure:
                _log.emit(log_events.FUNCTION_LIBRARY_CLEANUP_POSTPONED, why=str(failure))
            await self._clock.sleep(INTERVAL_SECONDS)

    async def collect(self) -> list[str]:
        """Record the own library, register the others, delete the unused ones; return what was deleted."""
        now_seconds = int((await self._redis.command("TIME"))[0])
        found = await self._list_libraries()
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
            return  # another process was faster

    async def _list_libraries(self) -> frozenset[str]:
        libraries = await self._redis.command("FUNCTION", "LIST", "LIBRARYNAME", f"{self._prefix}*")
        return frozenset(_name_of(library) for library in libraries)


def _name_of(library: Mapping[bytes, object] | Iterable[object]) -> str:
    """Return a library's name, from either form of the protocol."""
    if isinstance(library, Mapping):
        return _text(library[b"library_name"] if b"library_name" in library else library["library_name"])  # type: ignore[index]  # by version of the client
    words = list(library)
    return _text(words[[_text(word) for word in words[::2]].index("library_name") * 2 + 1])


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
