"""The topic in which Faust keeps the table: made by us, so that it is made as all of our topics are."""

from __future__ import annotations

from strider.messaging.errors import StartRefused
from strider.messaging.kafka import KafkaConnection
from strider.messaging.ports import Bus
from strider.messaging.topics.admin import TopicAdmin
from strider.messaging.topics.diff import DeclaredTopic

from .host_table import CHANGELOG_CONFIG, CHANGELOG_TOPIC


async def ensure_changelog_topic(bus: Bus, connection: KafkaConnection, *, shards: int) -> None:
    """Have the topic on the broker, with as many copies as the broker makes of any topic."""
    found = await bus.partition_count(CHANGELOG_TOPIC)
    if found is None:
        async with TopicAdmin.open(connection) as broker:
            await broker.create([DeclaredTopic(CHANGELOG_TOPIC, shards, CHANGELOG_CONFIG, groups=())])
    elif found != shards:
        raise StartRefused(
            f"topic {CHANGELOG_TOPIC} has {found} partitions, but {shards} are set by STRIDER_SHARDS; "
            "it holds nothing but counts: delete it"
        )
