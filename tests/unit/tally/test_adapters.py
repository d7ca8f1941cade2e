"""The ledger on a compacted topic: fenced, rebuilt, and exact."""

from __future__ import annotations

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import TallyKept
from strider.contracts.generated.topics import TALLIES
from strider.messaging.errors import ShardFenced
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.runtime.clocks import SystemClock
from strider.tally.adapters import TopicLedger

PLACE = (1, "a.test")


@pytest.fixture
def broker() -> InProcessBroker:
    broker = InProcessBroker(clock=SystemClock())
    broker.create_topic(TALLIES.name, 2)
    return broker


def a_ledger(broker: InProcessBroker) -> TopicLedger:
    return TopicLedger(
        InProcessBus(broker),
        Codec(SchemaStore.bundled()),
        clock=SystemClock(),
        commit_interval_seconds=0.001,
    )


def a_tally(count: int) -> TallyKept:
    return TallyKept("a.test", count, count - 1)


async def test_the_next_owner_knows_what_was_kept(broker: InProcessBroker) -> None:
    first, second = a_ledger(broker), a_ledger(broker)
    await first.on_shards_taken(frozenset({0, 1}))
    await first.keep({PLACE: a_tally(1), (0, "b.test"): TallyKept("b.test", 9, 9)})
    await first.keep({PLACE: a_tally(2)})
    await first.on_shards_lost(frozenset({1}))

    await second.on_shards_taken(frozenset({1}))

    assert second.tally(PLACE) == a_tally(2)


async def test_who_was_overtaken_keeps_nothing(broker: InProcessBroker) -> None:
    """A process that slept through its own replacement must not write over its successor."""
    zombie, owner = a_ledger(broker), a_ledger(broker)
    await zombie.on_shards_taken(frozenset({1}))
    await owner.on_shards_taken(frozenset({1}))

    with pytest.raises(ShardFenced):
        await zombie.keep({PLACE: a_tally(7)})

    await owner.keep({PLACE: a_tally(1)})
    assert zombie.tally(PLACE) is None
    third = a_ledger(broker)
    await third.on_shards_taken(frozenset({1}))
    assert third.tally(PLACE) == a_tally(1)


async def test_a_shard_that_is_not_ours_has_no_tallies(broker: InProcessBroker) -> None:
    ledger = a_ledger(broker)
    await ledger.on_shards_taken(frozenset({1}))
    await ledger.on_shards_lost(frozenset({0, 1}))

    with pytest.raises(ShardFenced):
        ledger.tally(PLACE)
    with pytest.raises(ShardFenced):
        await ledger.keep({PLACE: a_tally(1)})
