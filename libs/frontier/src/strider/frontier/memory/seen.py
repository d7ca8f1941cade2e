"""Seen URLs in memory, in two generations: fingerprints by scope, and the seeds' tokens."""

from __future__ import annotations

from collections import defaultdict


class _SeenGeneration:
    __slots__ = ("scopes", "tokens")

    def __init__(self) -> None:
        self.scopes: defaultdict[str, set[int]] = defaultdict(set)
        self.tokens: dict[str, str] = {}


class SeenSets:
    """Seen sets of one shard. A generation older than twice its age is dropped on the next access."""

    def __init__(self, ttl_ms: int) -> None:
        self._ttl_ms = ttl_ms
        self._generations: dict[int, _SeenGeneration] = {}

    def add(self, scope: str, fingerprint: int, *, seen_at_ms: int, now_ms: int) -> None:
        """Record a URL, unless it was seen so long ago that it counts as new."""
        if generation := self._generation_at(seen_at_ms, now_ms):
            generation.scopes[scope].add(fingerprint)

    def store_token(self, entry_id: str, token: str, *, seen_at_ms: int, now_ms: int) -> None:
        """Store which seed opened an entry last."""
        if token and (generation := self._generation_at(seen_at_ms, now_ms)):
            generation.tokens[entry_id] = token

    def forget(self, scope: str, fingerprint: int, entry_id: str) -> None:
        """Make a URL count as new."""
        for generation in self._generations.values():
            if scope in generation.scopes:
                generation.scopes[scope].discard(fingerprint)
            generation.tokens.pop(entry_id, None)

    def drop_scope(self, scope: str) -> None:
        """Make all URLs of a scope count as new."""
        for generation in self._generations.values():
            generation.scopes.pop(scope, None)

    def sets_of(self, scope: str, now_ms: int) -> list[set[int]]:
        """Return the sets of a scope: a URL in any of them is known."""
        return [
            living.scopes[scope] for living in self._current_generations(now_ms) if scope in living.scopes
        ]

    def token(self, entry_id: str, now_ms: int) -> str:
        """Return the token of the seed that opened an entry last; empty where unknown."""
        for generation in self._current_generations(now_ms):
            if token := generation.tokens.get(entry_id):
                return token
        return ""

    def count(self, now_ms: int) -> int:
        """Return the number of recorded URLs."""
        living = self._current_generations(now_ms)
        return sum(len(scope) for generation in living for scope in generation.scopes.values())

    def _generation_at(self, seen_at_ms: int, now_ms: int) -> _SeenGeneration | None:
        current = now_ms // self._ttl_ms
        number = min(seen_at_ms // self._ttl_ms, current) if seen_at_ms else current
        if number < current - 1:
            return None
        return self._generations.setdefault(number, _SeenGeneration())

    def _current_generations(self, now_ms: int) -> list[_SeenGeneration]:
        """Return the living generations, newest first."""
        current = now_ms // self._ttl_ms
        for number in [number for number in self._generations if number < current - 1]:
            del self._generations[number]
        return [self._generations[number] for number in sorted(self._generations, reverse=True)]
