"""The one writer of a shard's topics: group commits in transactions, with fencing.

Decides when a group is committed, what its appenders get, and what follows an outcome that cannot be learned.
Knows nothing of what the records mean.

One awaitable serves all appenders of a group: a future for each would cost more than the record. Cancelling
one appender leaves the others waiting. After a failure everything that was appended and not resolved fails
with it, the group that was still open included: a repeated append must not end up behind later ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from itertools import zip_longest
from typing import Any, Final

from strider.contracts import EncodeError
from strider.messaging import log_events
from strider.messaging.errors import InfrastructureError, ShardFenced, Unavailable
from strider.messaging.log_events import logger
from strider.messaging.ports import RawRecord

from .connection import KafkaConnection
from .error_mapping import DEPENDENCY, describe_error, map_error, mapped_errors
from .patches import internals as insides
from .producer import RECORD_OVERHEAD_BYTES
from .transactions import NO_SESSION, ProducerSession, open_session


class CommitGroup:
    """One commit to come. Awaiting it waits for the commit, or raises why there was none."""

    __slots__ = ("batches", "done", "size_bytes")

    def __init__(self) -> None:
        self.batches: dict[tuple[str, int], list[Any]] = {}
        self.size_bytes = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __await__(self) -> Generator[Any, None, None]:
        return asyncio.shield(self.done).__await__()

    def succeed(self) -> None:
        """Resolve the commit for all appenders."""
        if not self.done.done():
            self.done.set_result(None)

    def fail(self, error: Exception) -> None:
        """Fail the commit for all appenders; it is no fault if none waits."""
        if not self.done.done():
            self.done.set_exception(error)
            self.done.exception()


_GROUP_BYTES: Final = 4 * 1024 * 1024
"""A group this large is committed before its interval."""
_MAX_UNCOMMITTED_BYTES: Final = 8 * _GROUP_BYTES
"""Size from which a group that waits for a slow commit takes no more: memory must not follow an outage."""
_RENEW_RETRY_SECONDS: Final = 0.5

_log = logger(__name__)


class KafkaShardWriter:
    """The transactional producer of one shard, behind the port."""

    def __init__(
        self,
        connection: KafkaConnection,
        transactional_id: str,
        *,
        shard: int,
        commit_interval_seconds: float,
        on_epoch: Callable[[int], None] | None = None,
    ) -> None:
        self._connection = connection
        self._transactional_id = transactional_id
        self._shard = shard
        self._commit_interval_seconds = commit_interval_seconds
        self._on_epoch = on_epoch
        self._client: Any = None
        self._session = NO_SESSION
        self._next_commit_at = 0.0
        """When the next group may be committed: an interval after the one before. In the event loop's time.
        """
        self._open_commit: CommitGroup | None = None
        self._committing: CommitGroup | None = None
        self._failure: InfrastructureError | None = None
        self._commit_due = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False
        self._ended: asyncio.Future[ShardFenced | None] = asyncio.get_running_loop().create_future()

    async def acquire(self) -> None:
        """Fence every earlier owner and begin."""
        self._client, self._session = await self._new_session(NO_SESSION)
        self._next_commit_at = asyncio.get_running_loop().time() + self._commit_interval_seconds
        self._task = asyncio.create_task(self._run(), name=f"shard-writer-{self._transactional_id}")

    @property
    def shard(self) -> int:
        """Number of the shard."""
        return self._shard

    @property
    def epoch(self) -> int:
        """Larger than that of every earlier owner; it grows when an unknown outcome forces a new session."""
        return self._session.epoch

    async def ended(self) -> ShardFenced | None:
        """Wait until this writer has ended; return ShardFenced where a newer owner was the reason."""
        return await asyncio.shield(self._ended)

    def append(self, topic: str, partition: int, record: RawRecord) -> Awaitable[None]:
        """Add to the open group; the awaitable ends with its commit, or raises ShardFenced."""
        key, value = record
        size = RECORD_OVERHEAD_BYTES + (len(key) if key else 0) + (len(value) if value else 0)
        if size > self._connection.message_bytes:
            raise EncodeError(
                f"{size} bytes for {topic} are over the limit of {self._connection.message_bytes}"
            )
        group = self._open_commit
        if group is None or group.size_bytes > _MAX_UNCOMMITTED_BYTES or self._failure is not None:
            group = self._open_group()
            if group.done.done():
                return group
        batches = group.batches.get((topic, partition))
        if batches is None:
            batches = group.batches[topic, partition] = [self._client.create_batch()]
        if batches[-1].append(timestamp=None, key=key, value=value) is None:
            batches.append(self._client.create_batch())
            batches[-1].append(timestamp=None, key=key, value=value)
        group.size_bytes += size
        if group.size_bytes > _GROUP_BYTES:
            self._commit_due.set()
        return group

    def _open_group(self) -> CommitGroup:
        """Open a group, or return one that has failed already where nothing can be appended."""
        failure = self._failure
        if failure is None and self._is_closing:
            failure = InfrastructureError(f"the writer of shard {self._shard} is closed")
        if failure is None and self._open_commit is not None:
            failure = Unavailable(
                DEPENDENCY, f"shard {self._shard}: {self._open_commit.size_bytes} bytes wait for a commit"
            )
        group = CommitGroup()
        if failure is not None:
            group.fail(failure)
            return group
        self._open_commit = group
        loop = asyncio.get_running_loop()
        # After a quiet time the group is committed at once; a steady flow waits for the interval.
        self._timer = loop.call_at(max(loop.time(), self._next_commit_at), self._commit_due.set)
        return group

    async def flush(self) -> None:
        """Commit what is open now, without waiting for the group's interval."""
        if self._open_commit is not None:
            self._commit_due.set()
        waiting = self._open_commit or self._committing
        if waiting is not None:
            await waiting
        elif isinstance(self._failure, ShardFenced):
            raise self._failure

    async def _run(self) -> None:
        while self._failure is None:
            await self._commit_due.wait()
            self._commit_due.clear()
            if self._timer is not None:
                self._timer.cancel()
            group, self._open_commit = self._open_commit, None
            if group is not None:
                self._committing = group
                self._next_commit_at = asyncio.get_running_loop().time() + self._commit_interval_seconds
                await self._commit_group(group)
                self._committing = None

    async def _commit_group(self, group: CommitGroup) -> None:
        try:
            await self._check_partitions(group)
        except Exception as error:  # noqa: BLE001  # nothing was begun, so the epoch may stay
            refusal = map_error(error)
            self._fail_groups(
                refusal if isinstance(refusal, InfrastructureError) else InfrastructureError(refusal)
            )
            return
        try:
            async with asyncio.timeout(self._connection.commit_timeout_seconds):
                await self._commit(group)
        except Exception as error:  # noqa: BLE001  # the outcome is unknown, whatever the error
            failure = map_error(error, shard=self._shard)
            if isinstance(failure, ShardFenced):
                self._fail(failure)
            else:
                await self._renew_session(failure)
        else:
            group.succeed()

    async def _check_partitions(self, group: CommitGroup) -> None:
        for topic, partition in group.batches:
            with mapped_errors():
                async with asyncio.timeout(self._connection.commit_timeout_seconds):
                    known = await self._client.partitions_for(topic)
            if partition not in known:
                raise InfrastructureError(f"{topic} has {len(known)} partitions, there is no {partition}")

    async def _commit(self, group: CommitGroup) -> None:
        client = self._client
        await client.begin_transaction()
        acknowledgements: list[asyncio.Future[Any]] = []
        try:
            for layer in zip_longest(*group.batches.values()):
                for (topic, partition), batch in zip(group.batches, layer, strict=True):
                    if batch is not None:
                        batch.close()
                        acknowledgements.append(await client.send_batch(batch, topic, partition=partition))
            # The library would commit what is left of a transaction that has lost a batch.
            for acknowledged in acknowledgements:
                await acknowledged
        finally:
            for acknowledged in acknowledgements:
                acknowledged.cancel()
                if acknowledged.done() and not acknowledged.cancelled():
                    acknowledged.exception()
        await client.commit_transaction()

    async def _renew_session(self, cause: Exception) -> None:
        """Discard the producer, whose last outcome is unknown, and begin a new epoch if we still may."""
        _log.emit(log_events.SHARD_WRITER_RENEWED, shard=self._shard, reason=describe_error(cause))
        self._fail(
            Unavailable(DEPENDENCY, f"shard {self._shard}: commit not known to have happened: {cause}")
        )
        await insides.close_producer(self._client, within_seconds=0)
        while True:
            try:
                self._client, self._session = await self._new_session(self._session)
            except ShardFenced as fenced:
                self._fail(fenced)
                return
            except Exception as error:  # noqa: BLE001  # appenders must get it, whatever it is
                if isinstance(error, Unavailable):
                    event, with_traceback = log_events.SHARD_WRITER_RENEWAL_DEFERRED, False
                else:
                    event, with_traceback = log_events.SHARD_WRITER_RENEWAL_FAILED, True
                reason = describe_error(error)
                _log.emit(event, shard=self._shard, reason=reason, exc_info=with_traceback)
                self._fail(
                    Unavailable(
                        DEPENDENCY, f"shard {self._shard} cannot be taken again: {describe_error(error)}"
                    )
                )
                await asyncio.sleep(_RENEW_RETRY_SECONDS)
            else:
                break
        self._failure = None
        if self._on_epoch is not None:
            self._on_epoch(self.epoch)

    def _fail(self, failure: InfrastructureError) -> None:
        self._failure = failure
        self._fail_groups(failure)
        if isinstance(failure, ShardFenced) and not self._ended.done():
            self._ended.set_result(failure)

    def _fail_groups(self, failure: InfrastructureError) -> None:
        groups, self._open_commit = (self._committing, self._open_commit), None
        for group in groups:
            if group is not None:
                group.fail(failure)

    async def _new_session(self, held: ProducerSession) -> tuple[Any, ProducerSession]:
        return await open_session(self._connection, self._transactional_id, shard=self._shard, held=held)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._is_closing

    async def close(self) -> None:
        """Commit what is open, within the close timeout, and close; a second call does nothing."""
        if self._is_closing:
            return
        self._is_closing = True
        try:
            async with asyncio.timeout(self._connection.close_timeout_seconds):
                await self.flush()
        except (InfrastructureError, TimeoutError) as error:
            _log.emit(
                log_events.SHARD_WRITER_CLOSED_UNFLUSHED, shard=self._shard, reason=describe_error(error)
            )
        finally:
            await self._shut_down()

    async def _shut_down(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._failure is None:
            self._fail(
                Unavailable(DEPENDENCY, f"the writer of shard {self._shard} was closed before the commit")
            )
        if self._timer is not None:
            self._timer.cancel()
        if self._client is not None:
            await insides.close_producer(self._client, within_seconds=0)
        if not self._ended.done():
            self._ended.set_result(None)


async def open_shard_writer(
    connection: KafkaConnection,
    namespace: str,
    shard: int,
    *,
    commit_interval_seconds: float,
    on_epoch: Callable[[int], None] | None = None,
) -> KafkaShardWriter:
    """Become the one writer of a shard."""
    writer = KafkaShardWriter(
        connection,
        f"{namespace}-{shard}",
        shard=shard,
        commit_interval_seconds=commit_interval_seconds,
        on_epoch=on_epoch,
    )
    await writer.acquire()
    return writer
