"""Cookie jars in Redis: a hash for each run and domain, a field for each cookie."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from strider.fetcher.core import Cookie
from strider.storage.keys import COOKIES
from strider.storage.redis import Redis


class RedisCookieJars:
    """Jars that outlive a process: a session goes on when another one takes over."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def load(self, jar: str, domain: str) -> Sequence[Cookie]:
        """Give a jar's cookies of a domain; raises Unavailable."""
        told = await self._redis.command("HVALS", COOKIES(jar, domain))
        return tuple(Cookie(**json.loads(each)) for each in told)

    async def update(
        self, jar: str, domain: str, *, added: Sequence[Cookie], removed: Sequence[Cookie]
    ) -> None:
        """Add some, take others away; raises Unavailable."""
        key = COOKIES(jar, domain)
        if removed:
            await self._redis.command("HDEL", key, *map(_field, removed))
        if added:
            fields = {_field(cookie): json.dumps(asdict(cookie)) for cookie in added}
            await self._redis.command("HSET", key, *_flat(fields))
        await self._redis.command("EXPIRE", key, COOKIES.lifetime_seconds)


def _field(cookie: Cookie) -> str:
    return json.dumps(cookie.key)


def _flat(fields: Mapping[str, str]) -> list[Any]:
    return [word for pair in fields.items() for word in pair]
