"""Administration of a broker's topics, settings and committed offsets.

Executes and reports; what should be there is not known here. Every error of the library leaves as one of
ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as LibraryPlace
from aiokafka import errors as library
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from strider.messaging.errors import PartitionNotOwned, StartRefused, Unavailable
from strider.messaging.kafka.connection import KafkaConnection
from strider.messaging.kafka.error_mapping import mapped_errors, raise_for_code
from strider.messaging.kafka.patches.access_requests import send_to_any
from strider.messaging.kafka.patches.internals import raise_group_errors
from strider.messaging.ports import TopicPartition

from .diff import DeclaredTopic, ExistingTopic, TopicAlteration

BROKER_DEFAULT: Final = -1
"""As many replicas as the broker is set to make."""

_TOPIC_EXISTS: Final = 36
_NO_ERROR: Final = 0
_TOPIC_LEVEL_SOURCE: Final = 1
_TOPIC_RESOURCE: Final = 2
_PROBE: Final = "strider-setting-probe"
"""Name of a topic that is never created."""
_RETRY_SECONDS: Final = 0.1
_COORDINATOR_STARTING: Final = (
    library.GroupCoordinatorNotAvailableError,
    library.GroupLoadInProgressError,
    library.NotCoordinatorForGroupError,
)
"""A broker whose offset coordinator is starting answers with these for a moment."""

_new_admin: Any = AIOKafkaAdminClient
_new_consumer: Any = AIOKafkaConsumer
_new_topic: Any = NewTopic
_new_resource: Any = ConfigResource
"""The library's classes, without the types that they do not have."""

_WRONG_REQUESTS: Final = frozenset({17, 29, 31, 37, 38, 39, 40, 42, 44})
"""Invalid name, no permission (topic, cluster), invalid partitions, replication, assignment, setting,
request, and a policy of the broker's: repeating them changes nothing.
"""


class TopicAdmin:
    """The administrator's view of one broker, open for one piece of work."""

    def __init__(self, connection: KafkaConnection, admin: Any) -> None:
        self._connection = connection
        self._admin = admin

    @classmethod
    @asynccontextmanager
    async def open(cls, connection: KafkaConnection) -> AsyncIterator[TopicAdmin]:
        """Connect; raises Unavailable when no broker responds within the request timeout."""
        admin = _new_admin(**connection.client_arguments())
        # Else a broker that has just started would have every group begin again from the first message.
        raise_group_errors(admin)
        try:
            with mapped_errors(at=connection.bootstrap_servers):
                async with asyncio.timeout(connection.request_timeout_seconds):
                    await admin.start()
            yield cls(connection, admin)
        finally:
            await admin.close()

    async def describe(self) -> tuple[ExistingTopic, ...]:
        """Return every topic with its settings."""
        with mapped_errors():
            metadata = await self._admin.describe_topics()
            counts = {topic["topic"]: len(topic["partitions"]) for topic in metadata}
            asked = [_new_resource(ConfigResourceType.TOPIC, name) for name in sorted(counts)]
            answers = await self._admin.describe_configs(asked) if asked else []
        return tuple(
            _existing_topic(name, counts[name], entries)
            for answer in answers
            for code, _message, kind, name, entries in answer.resources
            if code == _NO_ERROR and kind == _TOPIC_RESOURCE
        )

    async def create(self, topics: Sequence[DeclaredTopic], *, replication: int = BROKER_DEFAULT) -> None:
        """Create topics; one that was created meanwhile is no error."""
        # The library wants no assignment beside a number of replicas, and an empty one beside none.
        assignment: dict[int, list[int]] | None = {} if replication == BROKER_DEFAULT else None
        wanted = [
            _new_topic(topic.name, topic.partitions, replication, assignment, dict(topic.config))
            for topic in topics
        ]
        with mapped_errors():
            answer = await self._admin.create_topics(wanted)
        for name, code, message in answer.topic_errors:
            if code not in (_NO_ERROR, _TOPIC_EXISTS):
                raise_for_refusal(code, f"creating {name}: {message}")

    async def knows_setting(self, setting: str, value: str) -> bool:
        """Whether the broker takes this setting of a topic; nothing is created.

        A description does not show it: brokers leave out some settings that no topic has.
        """
        assignment: dict[int, list[int]] = {}
        probe = _new_topic(_PROBE, 1, BROKER_DEFAULT, assignment, {setting: value})
        with mapped_errors():
            answer = await self._admin.create_topics([probe], validate_only=True)
        return all(code == _NO_ERROR for _name, code, _message in answer.topic_errors)

    async def alter(self, alterations: Sequence[TopicAlteration]) -> None:
        """Set the settings of topics."""
        wanted = [
            _new_resource(ConfigResourceType.TOPIC, change.topic, dict(change.config))
            for change in alterations
        ]
        with mapped_errors():
            answers = await self._admin.alter_configs(wanted)
        for answer in answers:
            for code, message, _kind, name in answer.resources:
                if code != _NO_ERROR:
                    raise_for_refusal(code, f"changing {name}: {message}")

    async def send(self, request: Any) -> Any:
        """Send a request that the library's administrator does not offer; return the response as it is."""
        with mapped_errors(at=self._connection.bootstrap_servers):
            async with asyncio.timeout(self._connection.request_timeout_seconds):
                return await send_to_any(self._admin, request)

    async def committed(self, group: str) -> Mapping[TopicPartition, int]:
        """Return where a group has committed."""
        with mapped_errors():
            async with asyncio.timeout(self._connection.request_timeout_seconds):
                offsets = await self._committed(group)
        return {TopicPartition(*place): found.offset for place, found in offsets.items() if found.offset >= 0}

    async def begin_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return where partitions begin, once they have a leader."""
        async with self._consumer(None) as consumer:
            wanted = [LibraryPlace(*place) for place in partitions]
            consumer.assign(wanted)
            offsets = await consumer.beginning_offsets(wanted)
        return {TopicPartition(*place): offset for place, offset in offsets.items()}

    async def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> bool:
        """Commit for a group from the outside; False where it has members, which alone may do so."""
        places = {LibraryPlace(*place): offset for place, offset in offsets.items()}
        try:
            async with self._consumer(group) as consumer:
                consumer.assign(list(places))
                await consumer.commit(places)
        except PartitionNotOwned:
            return False
        return True

    async def _committed(self, group: str) -> Mapping[Any, Any]:
        while True:
            try:
                offsets: Mapping[Any, Any] = await self._admin.list_consumer_group_offsets(group)
            except _COORDINATOR_STARTING:
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return offsets

    @asynccontextmanager
    async def _consumer(self, group: str | None) -> AsyncIterator[Any]:
        arguments = self._connection.client_arguments()
        consumer = _new_consumer(group_id=group, enable_auto_commit=False, **arguments)
        try:
            with mapped_errors(at=self._connection.bootstrap_servers):
                async with asyncio.timeout(self._connection.request_timeout_seconds):
                    await consumer.start()
                    yield consumer
        finally:
            await consumer.stop()


def raise_for_refusal(code: int, what: str) -> None:
    """Raise for a refusing response: StartRefused where the request itself is wrong, else Unavailable."""
    try:
        raise_for_code(code, doing=what)
    except Unavailable as failure:
        if code in _WRONG_REQUESTS:
            raise StartRefused(f"kafka refuses {what}") from failure
        raise


def _existing_topic(name: str, partitions: int, entries: Iterable[Sequence[Any]]) -> ExistingTopic:
    listed = [(entry[0], entry[1], entry[3]) for entry in entries if entry[1] is not None]
    return ExistingTopic(
        name=name,
        partitions=partitions,
        config={setting: value for setting, value, _source in listed},
        overrides={setting: value for setting, value, source in listed if source == _TOPIC_LEVEL_SOURCE},
    )
