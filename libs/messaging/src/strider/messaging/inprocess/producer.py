"""Producers of the broker in memory: the plain one, and the one writer of a shard.

With delays, a message is written some time after it was queued and acknowledged some time after that, in
order; what a broker's failure meets in between is lost, or written without an acknowledgement. So everything
that a real network does to a sender can be simulated, repeatably.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence

from strider.messaging.errors import InfrastructureError, ShardFenced
from strider.messaging.ports import OutgoingMessage, Randomness, RawRecord, RecordMetadata, TopicPartition

from .broker import InProcessBroker, InProcessTopic, check_size, stored_bytes
from .log import RECORD_OVERHEAD_BYTES
from .waiters import wait_on

Acknowledgement = asyncio.Future[RecordMetadata]


class InProcessProducer:
    """Appends and acknowledges at once, or both after random delays."""

    def __init__(
        self,
        broker: InProcessBroker,
        *,
        chance: Randomness | None = None,
        ack_seconds: tuple[float, float] | None = None,
    ) -> None:
        self._broker = broker
        self._chance = chance
        self._ack_seconds = ack_seconds
        self._last: asyncio.Task[None] | None = None
        """Sends what was queued last; each waits for the one before."""
        self._acknowledging: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def send(self, message: OutgoingMessage) -> Awaitable[RecordMetadata]:
        """Append a message; wait while its topic is full."""
        self._check_open()
        topic = self._broker.topic(message.topic)
        check_size(topic, message.key, message.value, message.headers)
        if topic.max_bytes is not None:
            await self._wait_for_capacity(topic, stored_bytes(message))
        return self._write(lambda: self._broker.append(message))

    async def send_raw(
        self, topic: str, partition: int, records: Iterable[RawRecord]
    ) -> Sequence[Awaitable[RecordMetadata]]:
        """Append records as one batch."""
        batch = tuple(records)
        size = sum(len(k or b"") + len(v or b"") + RECORD_OVERHEAD_BYTES for k, v in batch)
        self._check_open()
        logs = self._broker.topic(topic)
        for key, value in batch:
            check_size(logs, key, value)
        await self._wait_for_capacity(logs, size)
        if not batch:
            return ()
        return (self._write(lambda: self._broker.append_raw(TopicPartition(topic, partition), batch)),)

    async def flush(self) -> None:
        """Wait for the acknowledgements that are outstanding."""
        if self._last is not None:
            await asyncio.wait((self._last,))
        if self._acknowledging:
            await asyncio.wait(set(self._acknowledging))

    async def close(self) -> None:
        """Flush and refuse later messages."""
        self._is_closed = True
        await self.flush()

    async def _wait_for_capacity(self, topic: InProcessTopic, size_bytes: int) -> None:
        while not self._broker.has_capacity(topic, size_bytes):
            await wait_on((topic.senders,), clock=self._broker.clock)
            self._check_open()

    def _check_open(self) -> None:
        if self._is_closed:
            raise InfrastructureError("the producer was closed")
        self._broker.check_available()

    def _write(self, append: Callable[[], RecordMetadata]) -> Acknowledgement:
        answer: Acknowledgement = asyncio.get_running_loop().create_future()
        if self._ack_seconds is None:
            answer.set_result(append())
            return answer
        self._last = asyncio.create_task(self._send(append, answer, after=self._last))
        return answer

    async def _send(
        self,
        append: Callable[[], RecordMetadata],
        answer: Acknowledgement,
        *,
        after: asyncio.Task[None] | None,
    ) -> None:
        try:
            await self._delay()
            if after is not None:
                await asyncio.wait((after,))  # messages never overtake each other
            self._broker.check_available()
            where = append()
        except InfrastructureError as failure:
            _resolve(answer, failure)
            return
        back = asyncio.create_task(self._acknowledge_later(answer, where))
        self._acknowledging.add(back)
        back.add_done_callback(self._acknowledging.discard)

    async def _acknowledge_later(self, answer: Acknowledgement, where: RecordMetadata) -> None:
        try:
            await self._delay()
            self._broker.check_available()
        except InfrastructureError as failure:
            _resolve(answer, failure)
        else:
            _resolve(answer, where)

    async def _delay(self) -> None:
        assert self._chance is not None
        assert self._ack_seconds is not None
        await self._broker.clock.sleep(self._chance.uniform(*self._ack_seconds) / 2)


def _resolve(answer: Acknowledgement, how: RecordMetadata | InfrastructureError) -> None:
    if answer.done():
        return
    if isinstance(how, InfrastructureError):
        answer.set_exception(how)
    else:
        answer.set_result(how)


class _CommitAwaitable:
    """Awaitable of a group commit for many appenders: cancelling one leaves the others waiting."""

    __slots__ = ("_future",)

    def __init__(self, future: asyncio.Future[None]) -> None:
        self._future = future

    def __await__(self) -> Generator[object, None, None]:
        return asyncio.shield(self._future).__await__()


class InProcessShardWriter:
    """Writes the topics of one shard in transactions, group-committed."""

    def __init__(
        self, broker: InProcessBroker, namespace: str, shard: int, *, commit_interval_seconds: float
    ) -> None:
        self._broker = broker
        self._transactional_id = f"{namespace}-{shard}"
        self._shard = shard
        self._interval_seconds = commit_interval_seconds
        self._epoch = broker.transactions.initialise(self._transactional_id)
        self._group: asyncio.Future[None] | None = None
        self._timer: asyncio.Task[None] | None = None
        self._failure: InfrastructureError | None = None
        self._is_uncertain = False
        """A commit was not answered: what is still open must not come along with the next group."""

    @property
    def shard(self) -> int:
        """Number of the shard."""
        return self._shard

    @property
    def epoch(self) -> int:
        """Producer epoch that was issued when the shard was taken."""
        return self._epoch

    def append(self, topic: str, partition: int, record: RawRecord) -> Awaitable[None]:
        """Add a record to the open group; raises EncodeError for one that is too large."""
        check_size(self._broker.topic(topic), *record)
        future = self._group
        if future is None or future.done():
            future = self._group = asyncio.get_running_loop().create_future()
            future.add_done_callback(_mark_retrieved)
        try:
            self._check_owner()
            self._drop_uncertain()
            self._broker.transactions.append(
                self._transactional_id,
                TopicPartition(topic, partition),
                record,
                epoch=self._epoch,
                shard=self._shard,
            )
        except InfrastructureError as failure:
            self._fail(failure)
        else:
            if self._timer is None:
                self._timer = asyncio.create_task(self._commit_later())
        return _CommitAwaitable(future)

    async def flush(self) -> None:
        """Commit the open group now."""
        self._check_owner()
        if self._timer is not None:
            self._timer.cancel()
        self._commit()
        if self._failure is not None:
            raise self._failure

    async def close(self) -> None:
        """Commit what is open, if this is still the owner, and append nothing more."""
        if self._failure is None:
            try:
                await self.flush()
            except ShardFenced:
                return  # the newer owner has aborted what was open
            finally:
                self._failure = self._failure or InfrastructureError("the shard writer was closed")

    def kill(self) -> None:
        """End as a killed process does: what is open stays open until a takeover."""
        if self._timer is not None:
            self._timer.cancel()
        self._failure = InfrastructureError("the shard writer was killed")

    async def _commit_later(self) -> None:
        await self._broker.clock.sleep(self._interval_seconds)
        self._commit()

    def _commit(self) -> None:
        self._timer = None
        future = self._group
        try:
            self._broker.transactions.commit(self._transactional_id, epoch=self._epoch, shard=self._shard)
        except InfrastructureError as failure:
            self._fail(failure)
        else:
            if future is not None and not future.done():
                future.set_result(None)

    def _fail(self, failure: InfrastructureError) -> None:
        if isinstance(failure, ShardFenced):
            self._failure = failure
        self._is_uncertain = True
        if self._group is not None and not self._group.done():
            self._group.set_exception(failure)

    def _drop_uncertain(self) -> None:
        if self._is_uncertain:
            self._broker.transactions.abort(self._transactional_id, epoch=self._epoch, shard=self._shard)
            self._is_uncertain = False

    def _check_owner(self) -> None:
        if self._failure is not None:
            raise self._failure


def _mark_retrieved(future: asyncio.Future[None]) -> None:
    """Mark a failure as retrieved: not every appender waits for the commit."""
    if not future.cancelled():
        future.exception()
