"""Delete crawl specs that nothing uses: old ones that no entry of any shard names.

A spec in use has a young record: link-ingestion declares it again for a seed that names it more than a month
after its latest record, with a key of its own. What pages and redirects name is the spec of an entry whose
record is in the frontier log. So old records of a spec that no record of an entry names may be deleted, also
while a seed brings the spec into use again.
"""

from __future__ import annotations

from strider.contracts.generated.topics import CRAWL_SPECS
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.messaging.effects import PublishRaw
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler.ports import FrontierLogReader

INTERVAL_MS = 7 * 86_400_000
"""Shortest time between two passes, each of which reads the log of every shard."""


class SpecRetention:
    """Deletes crawl specs; used by the owner of one shard."""

    def __init__(
        self,
        crawl_specs: CrawlSpecCache,
        log_reader: FrontierLogReader,
        publisher: EventPublisher,
        *,
        shards: int,
        keep_seconds: float,
    ) -> None:
        """Create it; `keep_seconds` is the age from which on a spec without an entry is deleted."""
        self._crawl_specs = crawl_specs
        self._log_reader = log_reader
        self._publisher = publisher
        self._shards = shards
        self._keep_ms = round(keep_seconds * 1000)
        self._next_ms = 0

    async def delete_unused(self, now_ms: int) -> int:
        """Delete specs that nothing uses; return how many. Raises Unavailable."""
        if now_ms < self._next_ms:
            return 0
        await self._crawl_specs.read_to_end()
        unused = dict(self._crawl_specs.declared_before(now_ms - self._keep_ms))
        for shard in range(self._shards):
            if not unused:
                break
            async for batch in self._log_reader.read_entries(shard):
                for closed in batch.closed:
                    unused.pop(closed.template.crawl_spec_id, None)
                for entry in batch.open:
                    unused.pop(entry.shared.sample.crawl_spec_id, None)
        tombstones = [PublishRaw(CRAWL_SPECS, key, None) for keys in unused.values() for key in keys]
        await self._publisher.publish(tombstones)
        self._next_ms = now_ms + min(INTERVAL_MS, self._keep_ms)
        return len(unused)
