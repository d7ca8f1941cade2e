"""Handle sources: apply per-site overrides to every owned shard.

Reads the topic to its end before the first shard is taken over, so that no site is fetched with wrong
settings, and follows it from there. Host groups in memory are sent to the working set when their source
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from strider.contracts.generated.events import SourceSaved
from strider.crawl.topic_follower import EventFeed, TopicFollower
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.politeness.retry_policy import RandomSource
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.core.hosts.overrides import SourceOverrides
from strider.scheduler.shard.shard import OwnedShard

_log = logger("scheduler")


class SourcesHandler:
    """Applies sources, and notifies owned shards."""

    def __init__(
        self,
        feed: EventFeed[tuple[str, SourceSaved | None]] | None,
        overrides: SourceOverrides,
        *,
        owned_shards: Callable[[], Iterable[OwnedShard]],
        clock: Clock,
        chance: RandomSource,
    ) -> None:
        """Create the handler; without a feed there are no sources."""
        self._overrides = overrides
        self._sources: dict[str, SourceSaved] = {}
        self._owned_shards = owned_shards
        self._follower = (
            None
            if feed is None
            else TopicFollower(
                feed, self._apply, paused_event=log_events.SOURCES_PAUSED, clock=clock, chance=chance
            )
        )

    def find(self, source_id: str) -> SourceSaved | None:
        """Return a source; None where none has this id, as far as the topic was read."""
        return self._sources.get(source_id)

    async def catch_up(self) -> None:
        """Apply all sources saved up to now; raises Unavailable."""
        if self._follower is not None:
            await self._follower.catch_up()

    async def run(self) -> None:
        """Follow the topic."""
        if self._follower is not None:
            await self._follower.run()

    async def _apply(self, saved: Sequence[tuple[str, SourceSaved | None]]) -> None:
        about: set[str] = set()
        for source_id, source in saved:
            if source is None:
                self._sources.pop(source_id, None)
            else:
                self._sources[source_id] = source
            about |= self._overrides.apply(source_id, source)
        for shard in list(self._owned_shards()) if about else ():
            names = [name for name in shard.host_groups if self._overrides.affects(name, about)]
            try:
                await shard.write_log([], groups=names)
                await shard.sync_host_groups(names)
            except (Unavailable, ShardFenced) as failure:
                # The override is in memory, and takes effect with the group's next release.
                _log.emit(
                    log_events.SOURCE_OVERRIDE_NOT_SYNCED_YET,
                    shard=shard.number,
                    groups=len(names),
                    why=str(failure),
                )
            shard.wake.set()
