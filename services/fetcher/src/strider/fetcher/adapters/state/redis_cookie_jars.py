"""Cookie jars in Redis: a hash for each run and domain, a field for each cookie."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain

from strider.fetcher.core import Cookie
from strider.storage.keys import COOKIES
from strider.storage.redis import Redis


class RedisCookieJars:
    """Jars that survive a process: another one continues the session."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def load(self, jar: str, domain: str) -> Sequence[Cookie]:
        """Return a jar's cookies of a domain; raises Unavailable."""
        values = await self._redis.command("HVALS", COOKIES(jar, domain))
        return tuple(Cookie(**json.loads(each)) for each in values)

    async def update(
        self, jar: str, domain: str, *, added: Sequence[Cookie], removed: Sequence[Cookie]
    ) -> None:
        """Add and remove cookies; raises Unavailable."""
        key = COOKIES(jar, domain)
        if removed:
            await self._redis.command("HDEL", key, *map(_field, removed))
        if added:
            fields = {_field(cookie): json.dumps(asdict(cookie)) for cookie in added}
            await self._redis.command("HSET", key, *chain.from_iterable(fields.items()))
        await self._redis.command("EXPIRE", key, COOKIES.lifetime_seconds)


def _field(cookie: Cookie) -> str:
    return json.dumps(cookie.key)
