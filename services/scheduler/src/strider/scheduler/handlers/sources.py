"""sources -> what people want of single sites -> every shard in hand, at once.

Reads the sources whole before the first shard is taken, so that no site is met with another's manners,
and then on for ever. A group that is known is told to the working set where its source has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from strider.contracts.generated.events import SourceSaved
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.politeness.retry_policy import RandomSource
from strider.runtime.observability.logging import logger
from strider.scheduler.core import SourceOverrides
from strider.scheduler.ports import Register
from strider.scheduler.shard.shard import OwnedShard

from .topic_follower import TopicFollower

_log = logger("scheduler")


class SourcesHandler:
    """Takes sources in, and tells shards of them."""

    def __init__(
        self,
        register: Register | None,
        overrides: SourceOverrides,
        *,
        owned_shards: Callable[[], Iterable[OwnedShard]],
        clock: Clock,
        chance: RandomSource,
    ) -> None:
        """Make one; without a register there are no sources."""
        self._sources = overrides
        self._in_hand = owned_shards
        self._follower = (
            None
            if register is None
            else TopicFollower(register, self._take, waits="Sources Wait", clock=clock, chance=chance)
        )

    async def catch_up(self) -> None:
        """Know all that was saved by now; raises Unavailable."""
        if self._follower is not None:
            await self._follower.catch_up()

    async def run(self) -> None:
        """Read on for ever."""
        if self._follower is not None:
            await self._follower.run()

    async def _take(self, saved: Sequence[tuple[str, SourceSaved | None]]) -> None:
        about: set[str] = set()
        for source_id, source in saved:
            about |= self._sources.apply(source_id, source)
        for shard in list(self._in_hand()) if about else ():
            names = [name for name in shard.host_groups if self._sources.affects(name, about)]
            try:
                await shard.write_log([], groups=names)
                await shard.sync_host_groups(names)
            except (Unavailable, ShardFenced) as failure:
                # It holds from the group's next turn on all the same.
                _log.warning("Source Not Told", shard=shard.number, groups=len(names), why=str(failure))
            shard.wake.set()
