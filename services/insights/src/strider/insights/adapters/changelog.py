"""The topic in which Faust keeps the table: made by us, so that it is made as all of our topics are."""

from __future__ import annotations

from strider.runtime.errors import StartRefused
from strider.runtime.kafka import KafkaConnection
from strider.runtime.ports import Bus
from strider.runtime.topics.broker import BrokerTopics
from strider.runtime.topics.plans import Declared

from .tables import CHANGELOG, CHANGELOG_CONFIG


async def prepare_changelog(bus: Bus, connection: KafkaConnection, *, shards: int) -> None:
    """Have the topic on the broker, with as many copies as the broker makes of any topic."""
    found = await bus.partition_count(CHANGELOG)
    if found is None:
        async with BrokerTopics.open(connection) as broker:
            await broker.create([Declared(CHANGELOG, shards, CHANGELOG_CONFIG, groups=())])
    elif found != shards:
        raise StartRefused(
            f"topic {CHANGELOG} has {found} partitions, but {shards} are set by STRIDER_SHARDS; "
            "it holds nothing but counts: delete it"
        )
