"""Records of sessions in Redis: one key for each, which ends with the session."""

from __future__ import annotations

from strider.runtime.sessions import Session, read_session, write_session
from strider.storage.keys import SESSION_RECORD
from strider.storage.redis import Redis


class RedisSessions:
    """Sessions of browsers. Every method may raise Unavailable."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def save(self, session: Session) -> None:
        """Store a session until its end, and no longer than sessions last."""
        seconds = max(1, session.ends_at_seconds - session.created_at_seconds)
        lifetime = min(seconds, SESSION_RECORD.lifetime_seconds)
        await self._redis.command(
            "SET", SESSION_RECORD(session.session_id), write_session(session), "EX", lifetime
        )

    async def find(self, session_id: str) -> Session | None:
        """Return a session; None where it has ended."""
        stored = await self._redis.command("GET", SESSION_RECORD(session_id))
        return None if stored is None else read_session(session_id, stored)

    async def end(self, session_id: str) -> None:
        """Delete a session."""
        await self._redis.command("DEL", SESSION_RECORD(session_id))
