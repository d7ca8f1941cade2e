"""What must hold before a process may consume, and the waiting for it.

Infrastructure that is not there yet is waited for (parts start in any order); a fact that only a
person can change refuses the start.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from math import inf
from typing import Any, Final, TypeVar

from strider.contracts import Topic
from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.ports import Bus, Clock, Randomness
from strider.politeness.retry_policy import RetryPolicy
from strider.runtime.observability.logging import logger

from .readiness import Readiness

T = TypeVar("T")
_log = logger("service")

STARTUP_RETRY_POLICY: Final = RetryPolicy(
    retries=inf, first_seconds=0.25, factor=2, cap_seconds=4, jitter_seconds=0.5, deadline_seconds=inf
)
"""Waits for infrastructure at the start: shorter than while running, nothing else is held up by them."""


class StartupRetry:
    """Tries something until what it needs is there, saying meanwhile what it waits for."""

    def __init__(self, readiness: Readiness, *, clock: Clock, chance: Randomness) -> None:
        self._readiness = readiness
        self._clock = clock
        self._chance = chance

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something; where infrastructure is down do it again, with growing waits, for ever."""
        attempt = 1
        missed: set[str] = set()
        while True:
            try:
                done = await work()
            except Unavailable as error:
                missed.add(error.dependency)
                if self._readiness.record(error.dependency, ok=False, detail=error.detail) or attempt == 1:
                    _log.warning("Waiting", part=error.dependency, why=error.detail)
                self._readiness.step = f"waiting for {error.dependency}"
                await self._clock.sleep(STARTUP_RETRY_POLICY.wait_seconds(attempt, self._chance) or 0)
                attempt += 1
            else:
                self._readiness.step = ""
                for part in missed:
                    self._readiness.record(part, ok=True)
                return done


async def check_partition_counts(bus: Bus, topics: Iterable[Topic[Any]], *, shards: int) -> None:
    """Compare partition counts with what is declared: a key would else lead to the wrong shard."""
    for topic in topics:
        wanted = topic.partitions or shards
        found = await bus.partition_count(topic.name)
        if found is None:
            raise Unavailable("kafka", f"topic {topic.name} does not exist; run: strider topics apply")
        if found != wanted:
            source = "declared" if topic.partitions else "set by STRIDER_SHARDS"
            raise StartRefused(
                f"topic {topic.name} has {found} partitions on the broker, but {wanted} are {source}; "
                "the count is fixed for the life of the topics"
            )
