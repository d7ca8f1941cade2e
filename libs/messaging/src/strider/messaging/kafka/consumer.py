"""Reading on a real broker: a member of a group, or a reader of named partitions.

Decides when a commit may still be sent and what an offset that is gone or missing means. Knows
nothing of messages' contents, of retries or of dead letters: that is the loop's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn, cast

from aiokafka import errors as library
from aiokafka.structs import TopicPartition as LibraryPartition

from strider.messaging.errors import InfrastructureError, OffsetLost, OffsetMissing, PartitionNotOwned
from strider.messaging.ports import GroupSpec, Record, TopicPartition
from strider.runtime.observability.logging import logger

from .assignor import ShardAssignor
from .connection import KafkaConnection
from .error_mapping import describe_error, map_error, mapped_errors
from .patches import internals as insides
from .patches import safe_decompression as unpacking
from .patches.batching_pace import BatchingPace

_COMMIT_RETRY_SECONDS: Final = 0.1
_POLL_SLACK_SECONDS: Final = 0.05

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
        self._settings = connection
        self._spec = spec
        self._assignor = assignor
        self._assigned: frozenset[TopicPartition] = frozenset()
        self._generation = -1
        self._round: object = None
        self._held_back: tuple[object, FetchedRecords] | None = None
        self._closed = False

    async def poll(self, *, max_records: int, timeout_seconds: float) -> FetchedRecords:
        """Next records of the partitions that are not paused, nothing after the timeout."""
        if self._closed:
            raise InfrastructureError("this consumer is closed")
        if self._held_back is not None:
            if self._may_deliver():
                return self._release_held_back()
            # Another fetch would overwrite what is kept, while the position has moved on.
            await asyncio.sleep(_POLL_SLACK_SECONDS)
            return {}
        found = await self._fetch(max_records, timeout_seconds)
        if not found and not self._closed:
            insides.check_alive(self._client)
        if found and not self._may_deliver():
            # Records of a hand-out that the listener has not been told of yet: kept until it has.
            self._held_back = (insides.assignment_of(self._client), found)
            return {}
        return found

    async def _fetch(self, max_records: int, timeout_seconds: float) -> FetchedRecords:
        await self._raise_decompression_failure()
        found = await self._fetch_records(max_records, timeout_seconds)
        if not found:
            # Else the next poll tells it: what was read with it must not be lost.
            await self._raise_decompression_failure()
        return found

    async def _raise_decompression_failure(self) -> None:
        if (failure := unpacking.pop_failure(insides.assignment_of(self._client))) is not None:
            await self._fail(failure)

    async def _fetch_records(self, max_records: int, timeout_seconds: float) -> FetchedRecords:
        try:
            # `getmany` waits out a rebalance however long it takes, whatever its own timeout says.
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
            await self._fail(error)
        # Before the library's own task has its turn: what it does next is fetch again.
        messages = sum(map(len, found.values()))
        self._pace.record_round_trip(messages, is_full=messages >= max_records)
        return cast("Found", found)

    def _may_deliver(self) -> bool:
        return self._round is insides.assignment_of(self._client)

    def _release_held_back(self) -> FetchedRecords:
        assert self._held_back is not None
        (since, found), self._held_back = self._held_back, None
        return found if since is self._round else {}

    async def _fail(self, error: Exception) -> NoReturn:
        refusal = None if self._assignor is None else self._assignor.pop_error()
        if refusal is not None:
            raise refusal from error
        insides.check_alive(self._client)
        if isinstance(error, library.OffsetOutOfRangeError):
            for (topic, number), wanted in dict(error.args[0]).items():
                partition = TopicPartition(topic, number)
                available = (await self.begin_offsets([partition]))[partition]
                raise OffsetLost(topic, number, wanted=wanted, available=available) from error
        if isinstance(error, library.NoOffsetForPartitionError) and self._spec is not None:
            insides.forget_missing_offsets(self._client)
            missing = error.args[0]
            raise OffsetMissing(self._spec.group, missing.topic, missing.partition) from error
        if isinstance(error, library.RecordTooLargeError):
            # The library has already stepped over the record; only a restart reads it again.
            raise InfrastructureError(describe_error(error)) from error
        raise map_error(error) from error

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Remember the next offset to read, in the generation that gave us the partitions."""
        if self._spec is None:
            raise InfrastructureError("a reader belongs to no group and has nothing to commit")
        if not offsets:
            return
        for topic, number in sorted(offsets.keys() - self._assigned):
            raise PartitionNotOwned(f"{topic}[{number}] is not ours")
        with mapped_errors():
            async with asyncio.timeout(self._settings.request_timeout_seconds):
                await self._commit(offsets, self._generation)

    async def _commit(self, offsets: Mapping[TopicPartition, int], generation: int) -> None:
        while True:
            try:
                if not await insides.commit_once(self._client, offsets, generation=generation):
                    raise PartitionNotOwned("the group has rebalanced since these partitions were given")
            except library.KafkaError as error:
                if not getattr(error, "retriable", False):
                    raise
                _log.info("commit_retried", reason=describe_error(error))
                await asyncio.sleep(_COMMIT_RETRY_SECONDS)
            else:
                return

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Deliver nothing of these until they are resumed, or handed out anew by a rebalance."""
        self._client.pause(*self._held(partitions))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Deliver these again."""
        self._client.resume(*self._held(partitions))

    def assignment(self) -> frozenset[TopicPartition]:
        """Tell the partitions that are ours: none between being asked to hand back and being given anew."""
        return self._assigned

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read on from this offset."""
        self._client.seek(self._owned(partition), offset)
        if self._held_back is not None:
            since, found = self._held_back
            self._held_back = (
                since,
                {other: records for other, records in found.items() if other != partition},
            )

    async def position(self, partition: TopicPartition) -> int:
        """Next offset to be read. Raises OffsetMissing where the group has none."""
        owned = self._owned(partition)
        known = insides.progress_of(self._client, partition).position
        if known is not None:
            return known
        if self._spec is not None and await self.committed(partition) is None:
            raise OffsetMissing(self._spec.group, *partition)
        with mapped_errors():
            async with asyncio.timeout(self._settings.request_timeout_seconds):
                return int(await self._client.position(owned))

    async def committed(self, partition: TopicPartition) -> int | None:
        """Offset that the group has committed; None where there is none."""
        with mapped_errors():
            async with asyncio.timeout(self._settings.request_timeout_seconds):
                found: int | None = await self._client.committed(LibraryPartition(*partition))
                return found

    async def begin_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Where the logs begin now."""
        return await self._ask(self._client.beginning_offsets, list(partitions))

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Where the logs end now; committed data only, where the consumer reads committed."""
        return await self._ask(self._client.end_offsets, list(partitions))

    async def _ask(self, question: Any, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        with mapped_errors():
            async with asyncio.timeout(self._settings.request_timeout_seconds):
                found = await question(partitions)
        return {TopicPartition(*partition): offset for partition, offset in found.items()}

    async def offsets_at(self, moments_ms: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """First offset at or after a moment; the end offset where there is none."""
        with mapped_errors():
            async with asyncio.timeout(self._settings.request_timeout_seconds):
                found = await self._client.offsets_for_times(dict(moments_ms))
        late = [partition for partition in moments_ms if found[partition] is None]
        ends = await self.end_offsets(late) if late else {}
        return {
            partition: ends[partition] if partition in ends else found[partition].offset
            for partition in moments_ms
        }

    def progress(self) -> Mapping[TopicPartition, insides.PartitionProgress]:
        """How far each partition is, from what is known here: what a watchdog may ask at any time."""
        return {partition: insides.progress_of(self._client, partition) for partition in self._assigned}

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    async def close(self) -> None:
        """Leave the group and let go of everything within the close timeout; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self.clear_assignment()
        await insides.close_consumer(self._client, within_seconds=self._settings.close_timeout_seconds)

    def set_assignment(self, partitions: frozenset[TopicPartition]) -> None:
        """Note what was given, and in which generation."""
        self._assigned = partitions
        self._generation = -1 if self._spec is None else insides.generation_of(self._client)

    def allow_delivery(self) -> None:
        """Deliver from now on what belongs to the latest hand-out: the listener knows of it."""
        self._round = insides.assignment_of(self._client)

    def clear_assignment(self) -> None:
        """Note that nothing is ours any more."""
        self._assigned = frozenset()

    def _held(self, partitions: Iterable[TopicPartition]) -> list[LibraryPartition]:
        """Give those that the client holds: what was handed back is nobody's to pause."""
        held = self._client.assignment()
        return [LibraryPartition(*partition) for partition in partitions if partition in held]

    def _owned(self, partition: TopicPartition) -> LibraryPartition:
        if partition not in self._client.assignment():
            raise PartitionNotOwned(f"{partition.topic}[{partition.partition}] is not ours")
        return LibraryPartition(*partition)
