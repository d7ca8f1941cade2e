"""Leases as the scheduler writes them, on any frontier, and their fetch requests."""

from __future__ import annotations

from hashlib import sha256

from strider.contracts.generated.events import EntryRecorded, FetchRequested
from strider.contracts.ids import key_fingerprint
from strider.contracts.partitioning import shard_of_host
from strider.frontier.models import AcceptedEntry, HostGroupState, Lease
from strider.frontier.ports import WorkingSet
from strider.urls import host_of, origin_of

SHARDS = 12
EPOCH = 5


def entry(url: str) -> EntryRecorded:
    """Return the entry of a URL."""
    return EntryRecorded(
        job_id="job",
        url_key=sha256(url.encode()).hexdigest(),
        url=url,
        group=host_of(url),
        state="pending",
        execution_id="run",
        crawl_spec_id="spec",
        fetch_sequence=0,
        updated_at_ms=0,
    )


class FrontierLeases:
    """The owner of all shards of a frontier."""

    def __init__(self, frontier: WorkingSet, *, max_in_flight: int = 1, deadline_ms: int = 10_000) -> None:
        self._frontier = frontier
        self._max_in_flight = max_in_flight
        self._deadline_ms = deadline_ms
        self._taken: set[int] = set()

    async def lease(self, *urls: str, lease_ms: int = 60_000) -> list[FetchRequested]:
        """Accept URLs, and return a request for each that may be made now."""
        found: list[FetchRequested] = []
        by_shard: dict[int, list[EntryRecorded]] = {}
        for url in urls:
            by_shard.setdefault(shard_of_host(host_of(url), SHARDS), []).append(entry(url))
        for shard, entries in by_shard.items():
            await self._take(shard, {each.group for each in entries})
            accepted = [AcceptedEntry(each, "job", key_fingerprint(each.url_key)) for each in entries]
            await self._frontier.accept(shard, EPOCH, accepted)
            release = await self._frontier.release(shard, EPOCH, limit=1000, lease_ms=lease_ms)
            found += [self._request(shard, lease) for lease in release.leases]
        return found

    async def _take(self, shard: int, groups: set[str]) -> None:
        if shard not in self._taken:
            self._taken.add(shard)
            await self._frontier.take_over(shard, EPOCH)
            await self._frontier.begin_rebuild(shard, EPOCH)
            await self._frontier.finish_rebuild(shard, EPOCH, groups=(), sequence=0)
        states = [HostGroupState(group, delay_ms=0, max_in_flight=self._max_in_flight) for group in groups]
        await self._frontier.set_host_groups(shard, EPOCH, states)

    def _request(self, shard: int, lease: Lease) -> FetchRequested:
        url = lease.entry.url
        return FetchRequested(
            url=url,
            url_key=lease.entry.url_key,
            origin=origin_of(url),
            group=lease.entry.group,
            job_id="job",
            execution_id="run",
            crawl_spec_id="spec",
            fetch_sequence=lease.entry.fetch_sequence,
            lease_id=lease.lease_id,
            try_number=1,
            issued_at_ms=lease.issued_at_ms,
            lease_expires_at_ms=lease.expires_at_ms,
            shard=shard,
            deadline_ms=self._deadline_ms,
        )
