"""The broker as an outsider sees it: what is in the logs, what is committed.

The witness of every test. It uses the client library alone, so that it shares no code with the loop, the
publisher and the shard writers that it testifies about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete
from aiokafka.structs import TopicPartition

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec, SchemaStore

from .waiting import until

Offsets = Mapping[int, int]
"""By partition."""


class Broker:
    """Asks one broker, over connections of its own."""

    def __init__(self, address: str, *, shards: int) -> None:
        self.address = address
        self.shards = shards
        self.codec = Codec(SchemaStore.bundled())
        self._admin = AIOKafkaAdminClient(bootstrap_servers=address)
        self._offsets = AIOKafkaConsumer(bootstrap_servers=address, enable_auto_commit=False)

    async def open(self, *topics: Topic[Any]) -> None:
        """Connect; `ends` is for these topics."""
        places = [place for topic in topics for place in self._places(topic)]
        self._offsets.assign(places)
        # Questions would wait behind its fetches, half a second each.
        self._offsets.pause(*places)
        await self._admin.start()
        await self._offsets.start()

    async def close(self) -> None:
        await self._offsets.stop()
        await self._admin.close()

    async def committed(self, group: str, topic: Topic[Any]) -> dict[int, int]:
        """Where the group continues to read, by partition."""
        found = await self._admin.list_consumer_group_offsets(group)
        return {place.partition: each.offset for place, each in found.items() if place.topic == topic.name}

    async def ends(self, topic: Topic[Any]) -> dict[int, int]:
        """Where the log ends, by partition."""
        found = await self._offsets.end_offsets(self._places(topic))
        return {place.partition: offset for place, offset in found.items()}

    async def skip(self, group: str, topic: Topic[Any]) -> None:
        """Set the offsets of a group without members to the end of the topic."""
        if await self.committed(group, topic) == (ends := await self.ends(topic)):
            return
        consumer = AIOKafkaConsumer(bootstrap_servers=self.address, group_id=group, enable_auto_commit=False)
        consumer.assign(self._places(topic))
        await consumer.start()
        try:
            await consumer.commit({TopicPartition(topic.name, n): offset for n, offset in ends.items()})
        finally:
            await consumer.stop()

    async def read(self, topic: Topic[Any], since: Offsets) -> list[Any]:
        """Read committed records from these offsets to the end that there is now."""
        places = self._places(topic)
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.address, enable_auto_commit=False, isolation_level="read_committed"
        )
        consumer.assign(places)
        await consumer.start()
        try:
            ends = await consumer.end_offsets(places)
            begins = await consumer.beginning_offsets(places)
            for place in places:
                consumer.seek(place, max(begins[place], since[place.partition]))
            found: list[Any] = []
            while any([await consumer.position(place) < ends[place] for place in places]):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found += records
        finally:
            await consumer.stop()
        return found

    async def delete_records(self, topic: Topic[Any], before: Offsets) -> None:
        """Take records away as retention does: the log then starts at these offsets."""
        await self._admin.delete_records(
            {TopicPartition(topic.name, n): RecordsToDelete(offset) for n, offset in before.items()}
        )

    async def make_again(self, topic: Topic[Any]) -> None:
        """Delete a topic, and make it again with its partitions and no records."""
        await self._admin.delete_topics([topic.name])

        async def is_gone() -> bool:
            return topic.name not in await self._admin.list_topics()

        await until(is_gone, what=f"{topic.name} is deleted")
        count = topic.partitions or self.shards
        await self._admin.create_topics([NewTopic(topic.name, count, 1, topic_configs=dict(topic.config))])

        async def is_there() -> bool:
            return topic.name in await self._admin.list_topics()

        await until(is_there, what=f"{topic.name} is made again")

    def decode(self, topic: Topic[Any], records: list[Any]) -> list[Any]:
        """Events of records, in their order."""
        return [self.codec.decode(topic, record.value, record.headers) for record in records]

    def _places(self, topic: Topic[Any]) -> list[TopicPartition]:
        return [TopicPartition(topic.name, number) for number in range(topic.partitions or self.shards)]
