"""The in-process bus: every port of `strider.messaging.ports` on a broker in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from strider.messaging.ports import GroupSpec, Randomness, RebalanceListener, TopicPartition

from .broker import InProcessBroker
from .consumer import InProcessConsumer, InProcessReader
from .producer import InProcessProducer, InProcessShardWriter


class InProcessBus:
    """The connection of one process to a broker in memory."""

    def __init__(
        self,
        broker: InProcessBroker,
        *,
        chance: Randomness | None = None,
        ack_seconds: tuple[float, float] | None = None,
    ) -> None:
        """With `chance` and `ack_seconds` (min, max), acknowledgements are delayed by the clock."""
        self._broker = broker
        self._chance = chance
        self._ack_seconds = ack_seconds

    async def producer(self, *, compression: str | None = "zstd") -> InProcessProducer:  # noqa: ARG002  # the port's shape
        """Make a producer; nothing is compressed, since nothing is copied."""
        self._broker.check_available()
        return InProcessProducer(self._broker, chance=self._chance, ack_seconds=self._ack_seconds)

    async def consumer(self, spec: GroupSpec, listener: RebalanceListener) -> InProcessConsumer:
        """Make a member of a group; it joins with its first poll."""
        self._broker.check_available()
        return InProcessConsumer(self._broker, spec, listener)

    async def reader(
        self, partitions: Iterable[TopicPartition], *, read_committed: bool = True
    ) -> InProcessReader:
        """Make a groupless reader at the beginning of the given partitions."""
        self._broker.check_available()
        reader = InProcessReader(self._broker, read_committed=read_committed)
        reader.assign(partitions, from_start=True)
        return reader

    async def take_shard(
        self, namespace: str, shard: int, *, commit_interval_seconds: float = 0.25
    ) -> InProcessShardWriter:
        """Become the one writer of a shard; fence the writer before."""
        self._broker.check_available()
        return InProcessShardWriter(
            self._broker, namespace, shard, commit_interval_seconds=commit_interval_seconds
        )

    async def partition_count(self, topic: str) -> int | None:
        """Return how many partitions the topic has; None where it does not exist."""
        self._broker.check_available()
        return self._broker.partition_count(topic)

    async def cluster_identity(self, topic: str) -> str:
        """Return the identity of the broker, which lives as long as the process."""
        self._broker.check_available()
        return f"in-process/{topic}"

    async def committed(self, group: str) -> Mapping[TopicPartition, int]:
        """Return the offsets that a group has committed."""
        self._broker.check_available()
        return dict(self._broker.group(group).committed)

    async def ping(self) -> None:
        """Raise Unavailable while the broker is set unavailable."""
        self._broker.check_available()

    async def close(self) -> None:
        """Do nothing: no connection is held."""
