"""Transactions of the broker in memory: owner and open records of each transactional id.

One producer epoch per id; initialising an id takes the next epoch, aborts what its former owner had open, and
refuses that owner for good. Visibility of records is decided by the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from strider.messaging.errors import ShardFenced
from strider.messaging.ports import RawRecord, TopicPartition

from .waiters import wake

if TYPE_CHECKING:
    from .broker import InProcessBroker

TRANSACTION_TIMEOUT_SECONDS = 60.0
"""After this an open transaction is aborted, so that a dead owner does not hide what comes behind it."""


@dataclass(slots=True)
class _ProducerState:
    epoch: int = -1
    partitions: set[TopicPartition] = field(default_factory=set)
    """Partitions that the open transaction has written to."""
    began_at: float = 0.0


class InProcessTransactions:
    """The transaction coordinator."""

    def __init__(self, broker: InProcessBroker) -> None:
        self._broker = broker
        self._owners: dict[str, _ProducerState] = {}

    def initialise(self, transactional_id: str) -> int:
        """Become the owner of an id; return its next epoch."""
        owner = self._owners.setdefault(transactional_id, _ProducerState())
        self._end(transactional_id, owner, commit=False)
        owner.epoch += 1
        return owner.epoch

    def epochs(self) -> dict[str, int]:
        """Return the epoch of each id."""
        return {transactional_id: owner.epoch for transactional_id, owner in self._owners.items()}

    def restore(self, epochs: Mapping[str, int]) -> None:
        """Continue from these epochs, so that none is issued twice."""
        for transactional_id, epoch in epochs.items():
            self._owners[transactional_id] = _ProducerState(epoch)

    def append(
        self, transactional_id: str, partition: TopicPartition, record: RawRecord, *, epoch: int, shard: int
    ) -> None:
        """Write into the owner's open transaction, beginning one where none is open."""
        owner = self._check(transactional_id, epoch=epoch, shard=shard)
        if not owner.partitions:
            owner.began_at = self._broker.clock.monotonic()
        self._broker.append_raw(partition, (record,), transaction=transactional_id)
        owner.partitions.add(partition)

    def commit(self, transactional_id: str, *, epoch: int, shard: int) -> None:
        """Make everything in the open transaction visible at once."""
        owner = self._check(transactional_id, epoch=epoch, shard=shard)
        self._end(transactional_id, owner, commit=True)

    def abort(self, transactional_id: str, *, epoch: int, shard: int) -> None:
        """Make everything in the open transaction invisible for good."""
        owner = self._check(transactional_id, epoch=epoch, shard=shard)
        self._end(transactional_id, owner, commit=False)

    def expire(self) -> None:
        """Abort what has been open for too long; a new epoch fences its owner, as brokers do."""
        now = self._broker.clock.monotonic()
        for transactional_id, owner in self._owners.items():
            if owner.partitions and now - owner.began_at > TRANSACTION_TIMEOUT_SECONDS:
                self._end(transactional_id, owner, commit=False)
                owner.epoch += 1

    def _check(self, transactional_id: str, *, epoch: int, shard: int) -> _ProducerState:
        self._broker.check_available()
        owner = self._owners[transactional_id]
        if owner.epoch != epoch:
            raise ShardFenced(shard)
        return owner

    def _end(self, transactional_id: str, owner: _ProducerState, *, commit: bool) -> None:
        for partition in sorted(owner.partitions):
            self._broker.log(partition).end_transaction(transactional_id, commit=commit)
            wake(self._broker.topic(partition.topic).readers)
        owner.partitions.clear()
