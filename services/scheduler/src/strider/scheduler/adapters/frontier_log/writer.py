"""Write the frontier log of a shard, in its Kafka transactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from strider.contracts.avro.codec import Codec
from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.events import AdaptiveRecorded, EntryRecorded, HostRecorded, JobEvent
from strider.contracts.generated.topics import (
    ADAPTIVE_STATE,
    FRONTIER,
    HOSTS,
    JOB_EVENTS,
    LINKS_DISCOVERED,
)
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Bus, RawRecord, ShardWriter

_EMPTY_ENTRY: Final = EntryRecorded("", "", "", "", "", "", "", 0, 0)
"""Entry without fields, to compute the key of a tombstone with."""

NAMESPACE: Final = "scheduler"
"""First part of the transactional id: shards of other services have their own owners."""

_JOB_EVENTS_PARTITION: Final = 0
"""The only one."""


class TopicFrontierLog:
    """Frontier log of one owned shard."""

    def __init__(self, writer: ShardWriter, codec: Codec, *, cluster: str) -> None:
        self._writer = writer
        self._codec = codec
        self.cluster = cluster

    @property
    def epoch(self) -> int:
        """Epoch given at the takeover of the shard."""
        return self._writer.epoch

    def encode_entry(self, entry: EntryRecorded) -> RawRecord:
        """Encode the record of an entry."""
        return RawRecord(FRONTIER.key_of(entry), self._codec.encode(FRONTIER, entry).value)

    def tombstone(self, job_id: str, url_key: str) -> RawRecord:
        """Return the record that deletes an entry."""
        return RawRecord(FRONTIER.key_of(replace_fields(_EMPTY_ENTRY, job_id=job_id, url_key=url_key)), None)

    def encode_host(self, host: HostRecorded) -> RawRecord:
        """Encode the record of a host group or an origin."""
        return RawRecord(HOSTS.key_of(host), self._codec.encode(HOSTS, host).value)

    def host_tombstone(self, name: str) -> RawRecord:
        """Return the record that deletes a host group or an origin."""
        return RawRecord(name.encode(), None)

    async def write(
        self, entries: Sequence[RawRecord], hosts: Sequence[RawRecord] = (), *, at_once: bool = False
    ) -> None:
        """Write in one group commit, and return once it is committed."""
        shard, append = self._writer.shard, self._writer.append
        waiting = [append(FRONTIER.name, shard, record) for record in entries]
        waiting += [append(HOSTS.name, shard, record) for record in hosts]
        if at_once and waiting:
            await self._writer.flush()
        for commit in dict.fromkeys(waiting):
            await commit

    async def publish_facts(self, facts: Sequence[JobEvent]) -> None:
        """Publish on job-events in the shard's transactions, at once."""
        records = [
            RawRecord(JOB_EVENTS.key_of(fact), self._codec.encode(JOB_EVENTS, fact).value) for fact in facts
        ]
        waiting = [self._writer.append(JOB_EVENTS.name, _JOB_EVENTS_PARTITION, record) for record in records]
        if waiting:
            await self._writer.flush()
        for commit in dict.fromkeys(waiting):
            await commit

    async def write_adaptive(self, state: AdaptiveRecorded) -> None:
        """Write the state of a source in the shard's transactions, at once."""
        value = self._codec.encode(ADAPTIVE_STATE, state).value
        record = RawRecord(ADAPTIVE_STATE.key_of(state), value)
        commit = self._writer.append(ADAPTIVE_STATE.name, self._writer.shard, record)
        await self._writer.flush()
        await commit

    async def delete_adaptive(self, source_ids: Sequence[str]) -> None:
        """Delete the states of sources in one group commit, at once."""
        append, shard = self._writer.append, self._writer.shard
        waiting = [append(ADAPTIVE_STATE.name, shard, RawRecord(each.encode(), None)) for each in source_ids]
        if waiting:
            await self._writer.flush()
        for commit in dict.fromkeys(waiting):
            await commit

    async def close(self) -> None:
        """Commit what is open, and write no more."""
        await self._writer.close()


class TopicFrontierLogs:
    """Takes over shards at the broker."""

    def __init__(self, bus: Bus, codec: Codec, *, commit_interval_seconds: float) -> None:
        self._bus = bus
        self._codec = codec
        self._commit_interval_seconds = commit_interval_seconds

    async def take_over(self, shard: int) -> TopicFrontierLog:
        """Become the only writer of a shard, and fence the previous one."""
        cluster = await self._cluster()
        writer = await self._bus.take_shard(
            NAMESPACE, shard, commit_interval_seconds=self._commit_interval_seconds
        )
        try:
            await self._require_cluster(cluster)
        except BaseException:
            await writer.close()
            raise
        return TopicFrontierLog(writer, self._codec, cluster=cluster)

    async def _require_cluster(self, cluster: str) -> None:
        """Raise Unavailable where it is no longer this one: an epoch of it would count as the other's."""
        if cluster != await self._cluster():
            raise Unavailable("kafka", "the cluster was replaced while a shard was taken over")

    async def _cluster(self) -> str:
        # By this topic, because every member that reads the working set may describe it.
        return await self._bus.cluster_identity(LINKS_DISCOVERED.name)
