"""Apply the declared topics to a broker, and commit an initial offset for every group.

Consumers read with offset reset `none`, so that no retention or typo moves a group silently; that works only
because the first offset is written here. Existing offsets are never touched. Safe to repeat and to run twice
at once: creating what exists is no error, and both write the same offsets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from strider.contracts import Topic
from strider.messaging.errors import Unavailable
from strider.messaging.kafka.connection import KafkaConnection
from strider.messaging.ports import TopicPartition

from .admin import BROKER_DEFAULT, TopicAdmin
from .diff import DeclaredTopic, ExistingTopic, TopicPlan, declared_topics, diff_topics, limit_page_bytes

RECORD_LIMIT: Final = "max.decompressed.message.bytes"
"""Of Kafka 4.4 and later: size of a record, decompressed, above which the broker refuses its batch."""
_VISIBLE_TIMEOUT_SECONDS: Final = 15.0
"""New topics are known to all brokers within a second or so."""
_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class TopicApplyReport:
    """The differences that were found, and what was done about offsets."""

    plan: TopicPlan
    offsets: Mapping[str, int] = field(default_factory=dict)
    """Groups that got initial offsets, and how many."""
    busy: Mapping[str, int] = field(default_factory=dict)
    """Groups with members that lack so many offsets: they can be committed only without members."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left that a person must do."""
        return not self.plan.refused and not self.busy


async def compare_topics(
    connection: KafkaConnection, topics: Iterable[Topic[Any]], *, shards: int, page_bytes: int = 0
) -> tuple[TopicPlan, Mapping[str, int]]:
    """Return what applying would do: the plan, and groups with the number of offsets that they lack."""
    async with TopicAdmin.open(connection) as broker:
        declared = await _declared(broker, connection, topics, shards=shards, page_bytes=page_bytes)
        found = await broker.describe()
        plan = diff_topics(declared, found)
        counts = _partition_counts(declared) | _partition_counts(found)
        lacking = await _missing_offsets(broker, declared, counts)
    return plan, {group: len(places) for group, places in lacking.items()}


async def apply_topics(
    connection: KafkaConnection,
    topics: Iterable[Topic[Any]],
    *,
    shards: int,
    replication: int = BROKER_DEFAULT,
    page_bytes: int = 0,
) -> TopicApplyReport:
    """Create, alter and commit what is missing; refused changes stand in the report.

    `page_bytes` bounds the topics that are bounded by bytes, all together; 0: as they are declared.
    """
    async with TopicAdmin.open(connection) as broker:
        declared = await _declared(broker, connection, topics, shards=shards, page_bytes=page_bytes)
        plan = diff_topics(declared, await broker.describe())
        if plan.create:
            await broker.create(plan.create, replication=replication)
            await _wait_visible(broker, plan.create)
        if plan.alter:
            await broker.alter(plan.alter)
        given, busy = await _commit_initial_offsets(broker, declared)
    return TopicApplyReport(plan, given, busy)


async def _declared(
    broker: TopicAdmin,
    connection: KafkaConnection,
    topics: Iterable[Topic[Any]],
    *,
    shards: int,
    page_bytes: int,
) -> tuple[DeclaredTopic, ...]:
    """Return the declared topics; a broker that can bound decompressed records gets the readers' bound.

    A record beyond it is then refused to its producer. The bound of readers remains: it is for whole batches.
    """
    declared = limit_page_bytes(declared_topics(topics, shards=shards), page_bytes)
    limit = str(connection.max_decompressed_batch_bytes)
    if not await broker.knows_setting(RECORD_LIMIT, limit):
        return declared
    return tuple(replace(topic, config={**topic.config, RECORD_LIMIT: limit}) for topic in declared)


async def _commit_initial_offsets(
    broker: TopicAdmin, declared: Sequence[DeclaredTopic]
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    counts = _partition_counts(await broker.describe())
    lacking = await _missing_offsets(broker, declared, counts)
    places = sorted({place for wanted in lacking.values() for place in wanted})
    begins = await broker.begin_offsets(places) if places else {}
    groups = list(lacking)
    done = await asyncio.gather(
        *(broker.commit(group, {place: begins[place] for place in lacking[group]}) for group in groups)
    )
    given = {group: len(lacking[group]) for group, was_done in zip(groups, done, strict=True) if was_done}
    return given, {group: len(lacking[group]) for group in groups if group not in given}


def _partition_counts(topics: Iterable[DeclaredTopic | ExistingTopic]) -> dict[str, int]:
    return {topic.name: topic.partitions for topic in topics}


async def _missing_offsets(
    broker: TopicAdmin, declared: Sequence[DeclaredTopic], counts: Mapping[str, int]
) -> Mapping[str, list[TopicPartition]]:
    """Return, by group, the partitions without a committed offset, given the partition counts."""
    groups = sorted({group for topic in declared for group in topic.groups})
    committed = await asyncio.gather(*(broker.committed(group) for group in groups))
    lacking = {
        group: [
            place
            for topic in declared
            if group in topic.groups
            for number in range(counts[topic.name])
            if (place := TopicPartition(topic.name, number)) not in known
        ]
        for group, known in zip(groups, committed, strict=True)
    }
    return {group: places for group, places in lacking.items() if places}


async def _wait_visible(broker: TopicAdmin, created: Sequence[DeclaredTopic]) -> None:
    wanted = {topic.name for topic in created}
    try:
        async with asyncio.timeout(_VISIBLE_TIMEOUT_SECONDS):
            while True:
                if wanted <= {topic.name for topic in await broker.describe()}:
                    return
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError as failure:
        raise Unavailable(
            "kafka", f"new topics are not visible after {_VISIBLE_TIMEOUT_SECONDS:.0f} s"
        ) from failure
