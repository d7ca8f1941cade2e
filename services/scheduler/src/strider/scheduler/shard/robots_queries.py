"""Queries of other origins for robots.txt files of a shard that have yet to be fetched.

In memory alone: an origin whose query is lost fetches its own robots.txt again, is redirected again, and
sends another.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from strider.scheduler.core.hosts.redirect_queries import RobotsQuery
from strider.urls import origin_of

QUERY_MS: Final = 120_000
"""How long a query waits for the host group of its target; its origin sends another before that."""

MAX_QUERIES: Final = 10_000
"""Waiting queries; beyond it the oldest are dropped."""


class RobotsQueries:
    """Waiting queries, by the origin of their target."""

    def __init__(self) -> None:
        self._queries: OrderedDict[tuple[str, str], tuple[int, RobotsQuery]] = OrderedDict()
        """By target and requesting origin: when it was received, and the query."""
        self._requesters: dict[str, set[str]] = {}
        """By target."""

    def add(self, query: RobotsQuery, *, now_ms: int) -> bool:
        """Add a query; return whether it is the first one for its target."""
        target = origin_of(query.url)
        is_first = target not in self._requesters
        self._requesters.setdefault(target, set()).add(query.origin)
        self._queries[target, query.origin] = now_ms, query
        return is_first

    def take(self, target: str) -> list[RobotsQuery]:
        """Remove the queries for a target, and return them."""
        requesters = sorted(self._requesters.pop(target, ()))
        return [self._queries.pop((target, origin))[1] for origin in requesters]

    def is_waiting(self, target: str) -> bool:
        """Whether a query waits for a target."""
        return target in self._requesters

    def drop_expired(self, *, now_ms: int) -> list[RobotsQuery]:
        """Remove the queries that waited too long; return one for each target without another."""
        dropped: list[RobotsQuery] = []
        while self._queries:
            (target, origin), (at_ms, query) = next(iter(self._queries.items()))
            if now_ms - at_ms < QUERY_MS and len(self._queries) <= MAX_QUERIES:
                break
            del self._queries[target, origin]
            self._requesters[target].discard(origin)
            if not self._requesters[target]:
                del self._requesters[target]
                dropped.append(query)
        return dropped
