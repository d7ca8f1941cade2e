"""Kafka consumer: a member of a group, or a reader of named partitions.

Decides when a commit may still be sent and what a deleted or missing offset means. Knows nothing of messages'
contents, of retries or of dead letters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn, cast

from aiokafka import errors as library
from aiokafka.structs import TopicPartition as LibraryPartition

from strider.messaging import log_events
from strider.messaging.errors import (
    InfrastructureError,
    LogTruncated,
    OffsetLost,
    OffsetMissing,
    PartitionNotOwned,
    PartitionUnavailable,
    UnreadRange,
)
from strider.messaging.log_events import logger
from strider.messaging.ports import GroupSpec, Record, TopicPartition

from .assignor import ShardAssignor
from .connection import KafkaConnection
from .error_mapping import describe_error, map_error, mapped_errors
from .patches import internals as insides
from .patches import safe_decompression as unpacking
from .patches.batching_pace import BatchingPace

_COMMIT_RETRY_SECONDS: Final = 0.1
_POLL_SLACK_SECONDS: Final = 0.05

_NOTE: Final = "read-until="
"""Begins the note beside a committed offset: the time of the last record that was read, in milliseconds."""

FetchedRecords = Mapping[TopicPartition, Sequence[Record]]

_log = logger(__name__)


class KafkaConsumer:
    """A consumer behind the port, over a client of the library that is started elsewhere."""

    def __init__(
        self,
        client: Any,
        connection: KafkaConnection,
        *,
        spec: GroupSpec | None = None,
        assignor: ShardAssignor | None = None,
        pace: BatchingPace | None = None,
    ) -> None:
        self._client = client
        self._pace = pace or BatchingPace(0.0)
        self._connection = connection
        self._spec = spec
        self._assignor = assignor
        self._assigned: frozenset[TopicPartition] = frozenset()
        self._last_assigned: frozenset[TopicPartition] = frozenset()
        """The last assignment, also while it is revoked."""
        self._kept: frozenset[TopicPartition] = frozenset()
        self._generation = -1
        self._deliverable: object = None
        self._held_back: tuple[object, FetchedRecords] | None = None
        self._latest_ms: dict[TopicPartition, int] = {}
        """Time of the last record that was read of each partition."""
        self._is_closed = False

    async def poll(self, *, max_records: int, timeout_seconds: float) -> FetchedRecords:
        """Return the next records of the partitions that are not paused, nothing after the timeout."""
        if self._is_closed:
            raise InfrastructureError("this consumer is closed")
        if self._held_back is not None:
            if self._may_deliver():
                return self._release_held_back()
            # Another fetch would overwrite what is held back, while the position has moved on.
            await asyncio.sleep(_POLL_SLACK_SECONDS)
            return {}
        found = await self._fetch(max_records, timeout_seconds)
        if not found and not self._is_closed:
            insides.check_alive(self._client)
        if found and not self._may_deliver():
            # Records of an assignment that the listener has not got yet: held back until it has.
            self._held_back = (insides.assignment_of(self._client), found)
            return {}
        return found

    async def _fetch(self, max_records: int, timeout_seconds: float) -> FetchedRecords:
        await self._raise_decompression_failure()
        found = await self._fetch_records(max_records, timeout_seconds)
        if not found:
            # Else the next poll raises it: what was read with it must not be lost.
            await self._raise_decompression_failure()
        return found

    async def _raise_decompression_failure(self) -> None:
        if (failure := unpacking.pop_failure(insides.assignment_of(self._client))) is not None:
            await self._raise_mapped(failure)

    async def _fetch_records(self, max_records: int, timeout_seconds: float) -> FetchedRecords:
        limit = None if self._spec is None else self._spec.max_batch_records
        unpacking.begin_poll(insides.assignment_of(self._client), max_batch_records=limit)
        try:
            # `getmany` waits for the end of a rebalance, whatever its own timeout says.
            async with asyncio.timeout(timeout_seconds + _POLL_SLACK_SECONDS):
                found = await self._client.getmany(
                    timeout_ms=max(0, round(timeout_seconds * 1000)), max_records=max_records
                )
        except TimeoutError:
            insides.reset_fetch_context(self._client)
            return {}
        except asyncio.CancelledError:
            insides.reset_fetch_context(self._client)
            raise
        except (library.KafkaError, library.ConsumerStoppedError) as error:
            insides.reset_fetch_context(self._client)
            await self._raise_mapped(error)
        # Before the library's own task runs: what it does next is fetch again.
        messages = 0
        for partition, records in found.items():
            messages += len(records)
            self._latest_ms[partition] = records[-1].timestamp
        self._pace.record_round_trip(messages, is_full=messages >= max_records)
        return cast("FetchedRecords", found)

    def _may_deliver(self) -> bool:
        return self._deliverable is insides.assignment_of(self._client)

    def _release_held_back(self) -> FetchedRecords:
        assert self._held_back is not None
        (since, found), self._held_back = self._held_back, None
        return found if since is self._deliverable else {}

    async def _raise_mapped(self, error: Exception) -> NoReturn:
        refusal = None if self._assignor is None else self._assignor.pop_error()
        if refusal is not None:
            raise refusal from error
        insides.check_alive(self._client)
        if isinstance(error, InfrastructureError):
            raise error
        if isinstance(error, library.OffsetOutOfRangeError):
            for partition, wanted in dict(error.args[0]).items():
                raise await self._unread_range(TopicPartition(*partition), wanted) from error
        if isinstance(error, library.NoOffsetForPartitionError) and self._spec is not None:
            insides.forget_missing_offsets(self._client)
            missing = error.args[0]
            raise OffsetMissing(self._spec.group, missing.topic, missing.partition) from error
        if isinstance(error, library.RecordTooLargeError):
            # The library has already stepped over the record; only a restart reads it again.
            raise InfrastructureError(describe_error(error)) from error
        raise map_error(error) from error

    async def _unread_range(
        self, partition: TopicPartition, wanted: int
    ) -> UnreadRange | PartitionUnavailable:
        """Return why an offset is outside of its log."""
        begin = (await self.begin_offsets([partition]))[partition]
        if wanted < begin:
            return OffsetLost(*partition, wanted=wanted, available=begin)
        end = (await self.end_offsets([partition]))[partition]
        if wanted <= end:
            return PartitionUnavailable(*partition, "its log was shorter for a moment")
        resume_at = min(end, await self._first_after_latest(partition, end))
        return LogTruncated(*partition, wanted=wanted, end=end, resume_at=resume_at)

    async def _first_after_latest(self, partition: TopicPartition, end: int) -> int:
        """Return the first offset that is later than all that was read; the end where that is unknown.

        A broker that comes back with a shorter log is written to before we notice.
        """
        latest_ms = self._latest_ms.get(partition)
        if latest_ms is None and self._spec is not None:
            with mapped_errors():
                note = await insides.committed_note(self._client, partition)
            latest_ms = int(note.removeprefix(_NOTE)) if note.startswith(_NOTE) else None
        if latest_ms is None:
            return end
        return (await self.offsets_at({partition: latest_ms + 1}))[partition]

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit the next offsets, in the generation that assigned the partitions."""
        if self._spec is None:
            raise InfrastructureError("a reader belongs to no group and has nothing to commit")
        if not offsets:
            return
        for topic, number in sorted(offsets.keys() - self._assigned):
            raise PartitionNotOwned(f"{topic}[{number}] is not ours")
        with mapped_errors():
            async with asyncio.timeout(self._connection.request_timeout_seconds):
                await self._commit(offsets, self._generation)

    async def _commit(self, offsets: Mapping[TopicPartition, int], generation: int) -> None:
        notes = {place: f"{_NOTE}{latest_ms}" for place, latest_ms in self._latest_ms.items()}
        while True:
            try:
                if not await insides.commit_once(self._client, offsets, generation=generation, notes=notes):
                    raise PartitionNotOwned("the group has rebalanced since these partitions were assigned")
            except library.KafkaError as error:
                if not getattr(error, "retriable", False):
                    raise
                _log.emit(log_events.COMMIT_RETRIED, reason=describe_error(error))
                await asyncio.sleep(_COMMIT_RETRY_SECONDS)
            else:
                return

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Deliver nothing of these until they are resumed, or assigned again by a rebalance."""
        self._client.pause(*self._assigned_of(partitions))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Deliver these again."""
        self._client.resume(*self._assigned_of(partitions))

    def assignment(self) -> frozenset[TopicPartition]:
        """Return the partitions that are ours: none between revocation and the next assignment."""
        return self._assigned

    def kept(self) -> frozenset[TopicPartition]:
        """Return those partitions that were assigned here in the generation right before this one."""
        return self._kept

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at this offset."""
        self._client.seek(self._library_partition(partition), offset)
        # What could not be read there was fetched again until now, and would be reported again.
        unpacking.forget_failure(insides.assignment_of(self._client), partition)
        if self._held_back is not None:
            since, found = self._held_back
            self._held_back = (
                since,
                {other: records for other, records in found.items() if other != partition},
            )

    async def position(self, partition: TopicPartition) -> int:
        """Return the next offset to be read. Raises OffsetMissing where the group has none."""
        owned = self._library_partition(partition)
        known = insides.progress_of(self._client, partition).position
        if known is not None:
            return known
        if self._spec is not None and await self.committed(partition) is None:
            raise OffsetMissing(self._spec.group, *partition)
        with mapped_errors():
            async with asyncio.timeout(self._connection.request_timeout_seconds):
                return int(await self._client.position(owned))

    async def committed(self, partition: TopicPartition) -> int | None:
        """Return the offset that the group has committed; None where there is none."""
        with mapped_errors():
            async with asyncio.timeout(self._connection.request_timeout_seconds):
                found: int | None = await self._client.committed(LibraryPartition(*partition))
                return found

    async def begin_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return where the logs begin now."""
        return await self._lookup(self._client.beginning_offsets, list(partitions))

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return where the logs end now; committed data only, where the consumer reads committed."""
        return await self._lookup(self._client.end_offsets, list(partitions))

    async def _lookup(self, question: Any, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        with mapped_errors():
            async with asyncio.timeout(self._connection.request_timeout_seconds):
                found = await question(partitions)
        return {TopicPartition(*partition): offset for partition, offset in found.items()}

    async def offsets_at(self, moments_ms: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the first offset at or after a moment; the end offset where there is none."""
        with mapped_errors():
            async with asyncio.timeout(self._connection.request_timeout_seconds):
                found = await self._client.offsets_for_times(dict(moments_ms))
        late = [partition for partition in moments_ms if found[partition] is None]
        ends = await self.end_offsets(late) if late else {}
        return {
            partition: ends[partition] if partition in ends else found[partition].offset
            for partition in moments_ms
        }

    def held_by_transactions(self) -> Mapping[TopicPartition, int]:
        """Return where committed data ended at the last fetch, where the log continues behind it."""
        return {
            partition: progress.position
            for partition, progress in self.progress().items()
            if progress.is_held_by_transaction and progress.position is not None
        }

    def progress(self) -> Mapping[TopicPartition, insides.PartitionProgress]:
        """Return the progress of each partition as known here, without a request to the broker."""
        return {partition: insides.progress_of(self._client, partition) for partition in self._assigned}

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._is_closed

    async def close(self) -> None:
        """Leave the group and close within the close timeout; a second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self.clear_assignment()
        await insides.close_consumer(self._client, within_seconds=self._connection.close_timeout_seconds)

    def set_assignment(self, partitions: frozenset[TopicPartition]) -> None:
        """Set the assigned partitions and the generation that assigned them."""
        generation = -1 if self._spec is None else insides.generation_of(self._client)
        is_next = self._generation >= 0 and generation == self._generation + 1
        self._kept = self._last_assigned & partitions if is_next else frozenset()
        self._assigned = self._last_assigned = partitions
        self._latest_ms = {}
        self._generation = generation

    def allow_delivery(self) -> None:
        """Deliver records of the latest assignment from now on: the listener has it."""
        self._deliverable = insides.assignment_of(self._client)

    def clear_assignment(self) -> None:
        """Clear the assignment."""
        self._assigned = frozenset()

    def _assigned_of(self, partitions: Iterable[TopicPartition]) -> list[LibraryPartition]:
        """Return those that the client has assigned: a revoked partition cannot be paused."""
        held = self._client.assignment()
        return [LibraryPartition(*partition) for partition in partitions if partition in held]

    def _library_partition(self, partition: TopicPartition) -> LibraryPartition:
        if partition not in self._client.assignment():
            raise PartitionNotOwned(f"{partition.topic}[{partition.partition}] is not ours")
        return LibraryPartition(*partition)
