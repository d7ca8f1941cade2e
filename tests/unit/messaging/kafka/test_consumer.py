"""What our consumer adds to the client library's: which records and commits it lets through, and when."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import errors as library
from aiokafka.consumer.fetcher import FetchError
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.structs import ConsumerRecord
from aiokafka.structs import TopicPartition as LibraryPartition

from strider.messaging.errors import InfrastructureError, OffsetMissing, PartitionNotOwned, Unavailable
from strider.messaging.kafka import KafkaConnection, KafkaConsumer
from strider.messaging.kafka.membership import RebalanceForwarder
from strider.messaging.kafka.patches import internals as insides
from strider.messaging.ports import GroupSpec, TopicPartition

PARTITION = TopicPartition("t", 0)
SETTINGS = KafkaConnection(("nowhere:9",), request_timeout_seconds=1)
SPEC = GroupSpec("g", ("t",))


def record(offset: int) -> ConsumerRecord[bytes, bytes]:
    return ConsumerRecord("t", 0, offset, 0, 0, b"k", b"v", None, 1, 1, ())


class LibraryClient:
    """As much of the library's consumer as ours touches."""

    def __init__(self, poll: Callable[[], Any] = dict) -> None:
        self.committed_offsets: list[dict[Any, Any]] = []
        self.commit_errors: list[Exception] = []
        self.sought: list[tuple[Any, int]] = []
        self._poll = poll
        self._subscription = SimpleNamespace(subscription=None, _fetch_count=1, _last_fetch_ended=0.0)
        self._client = SimpleNamespace(_sync_task=asyncio.get_running_loop().create_future())
        self._fetcher = SimpleNamespace(_fetch_task=asyncio.get_running_loop().create_future(), _records={})
        self._coordinator = SimpleNamespace(
            generation=1,
            _commit_lock=asyncio.Lock(),
            _coordination_task=asyncio.get_running_loop().create_future(),
            _do_commit_offsets=self._do_commit_offsets,
            ensure_coordinator_known=self._nothing,
        )
        self.hand_out(PARTITION)

    def hand_out(self, *partitions: TopicPartition) -> None:
        assignment = SimpleNamespace(tps=frozenset(LibraryPartition(*p) for p in partitions))
        self._subscription.subscription = SimpleNamespace(assignment=assignment)

    def assignment(self) -> frozenset[LibraryPartition]:
        return self._subscription.subscription.assignment.tps

    async def getmany(self, *, timeout_ms: int, max_records: int) -> Any:
        found = self._poll()
        return await found if asyncio.iscoroutine(found) else found

    def seek(self, partition: Any, offset: int) -> None:
        self.sought.append((partition, offset))

    async def _nothing(self) -> None: ...

    async def _do_commit_offsets(self, _assignment: object, offsets: dict[Any, Any]) -> None:
        if self.commit_errors:
            raise self.commit_errors.pop(0)
        self.committed_offsets.append(offsets)


class Listener:
    def __init__(self) -> None:
        self.heard: list[str] = []
        self.may_go_on = asyncio.Event()

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        self.heard.append("revoked")

    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        self.heard.append("assigned")
        await self.may_go_on.wait()


def owner(client: LibraryClient) -> KafkaConsumer:
    consumer = KafkaConsumer(client, SETTINGS, spec=SPEC)
    consumer.set_assignment(frozenset({PARTITION}))
    consumer.allow_delivery()
    return consumer


def raising(error: Exception) -> Callable[[], Any]:
    def poll() -> Any:
        raise error

    return poll


async def poll(consumer: KafkaConsumer) -> Any:
    return await consumer.poll(max_records=10, timeout_seconds=0.01)


async def test_records_come_only_after_the_listener_got_their_partition() -> None:
    """The library may deliver before its own callback has run; a loop would have no place for them."""
    found = {LibraryPartition("t", 0): [record(0)]}
    client = LibraryClient(lambda: found)
    consumer = KafkaConsumer(client, SETTINGS, spec=SPEC)
    listener = Listener()
    rebalances = RebalanceForwarder(listener, group="g")
    rebalances.set_consumer(consumer)
    assert await poll(consumer) == {}
    assigning = asyncio.create_task(rebalances.on_partitions_assigned([LibraryPartition("t", 0)]))
    await asyncio.sleep(0)
    assert (listener.heard, await poll(consumer)) == (["assigned"], {})
    listener.may_go_on.set()
    await assigning
    assert await poll(consumer) == found


async def test_early_records_of_a_round_that_is_over_are_dropped() -> None:
    """They are read again, from the committed offset, by the next owner of the partition."""
    client = LibraryClient(lambda: {LibraryPartition("t", 0): [record(0)]})
    consumer = KafkaConsumer(client, SETTINGS, spec=SPEC)
    assert await poll(consumer) == {}
    client.hand_out(PARTITION)
    consumer.set_assignment(frozenset({PARTITION}))
    consumer.allow_delivery()
    assert await poll(consumer) == {}


async def test_a_listener_gets_one_revocation_and_then_nothing_is_ours() -> None:
    client = LibraryClient()
    consumer, listener = owner(client), Listener()
    rebalances = RebalanceForwarder(listener, group="g")
    await rebalances.on_partitions_revoked([])
    assert listener.heard == []
    rebalances.set_consumer(consumer)
    await rebalances.on_partitions_revoked([LibraryPartition("t", 0)])
    await rebalances.on_partitions_revoked([LibraryPartition("t", 0)])
    assert (listener.heard, consumer.assignment()) == (["revoked"], frozenset())


async def test_a_poll_that_a_rebalance_holds_up_ends_in_time() -> None:
    client = LibraryClient(lambda: asyncio.sleep(60))
    assert await poll(owner(client)) == {}


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(lambda: asyncio.sleep(60), id="timeout"),
        pytest.param(raising(library.KafkaConnectionError("gone")), id="error"),
    ],
)
async def test_a_fetch_that_was_cut_short_is_closed_in_the_librarys_books(result: Callable[[], Any]) -> None:
    """Else it believes for ever that we poll, and never finds us stuck."""
    client = LibraryClient(result)
    consumer = owner(client)
    with contextlib.suppress(Unavailable):
        await poll(consumer)
    assert client._subscription._fetch_count == 0
    assert client._subscription._last_fetch_ended > 0


async def test_a_commit_goes_out_in_the_generation_of_its_partitions() -> None:
    client = LibraryClient()
    await owner(client).commit({PARTITION: 5})
    assert [{p: o.offset for p, o in sent.items()} for sent in client.committed_offsets] == [{PARTITION: 5}]


async def test_a_commit_of_an_older_generation_is_not_sent() -> None:
    """The broker knows generations, not partitions: sent in the new one it would be taken."""
    client = LibraryClient()
    consumer = owner(client)
    client._coordinator.generation = 2
    with pytest.raises(PartitionNotOwned):
        await consumer.commit({PARTITION: 5})
    assert client.committed_offsets == []


async def test_a_commit_that_is_repeated_does_not_slip_into_the_next_generation() -> None:
    client = LibraryClient()
    consumer = owner(client)
    client.commit_errors = [library.NotCoordinatorForGroupError()]

    async def rebalance() -> None:
        client._coordinator.generation = 2

    results = await asyncio.gather(consumer.commit({PARTITION: 5}), rebalance(), return_exceptions=True)
    assert isinstance(results[0], PartitionNotOwned)
    assert client.committed_offsets == []


@pytest.mark.fault("F7", part="the answers of a coordinator that moves")
async def test_a_commit_is_repeated_while_the_coordinator_moves() -> None:
    client = LibraryClient()
    client.commit_errors = [library.NotCoordinatorForGroupError(), library.KafkaConnectionError("gone")]
    await owner(client).commit({PARTITION: 5})
    assert len(client.committed_offsets) == 1


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(library.IllegalGenerationError(), PartitionNotOwned, id="generation"),
        pytest.param(library.RebalanceInProgressError(), PartitionNotOwned, id="rebalance"),
        pytest.param(library.GroupAuthorizationFailedError("g"), Unavailable, id="permission"),
    ],
)
async def test_a_refused_commit_has_its_reason(error: Exception, expected: type[Exception]) -> None:
    client = LibraryClient()
    client.commit_errors = [error]
    with pytest.raises(expected):
        await owner(client).commit({PARTITION: 5})


async def test_nothing_is_committed_for_what_is_not_ours_or_for_nothing() -> None:
    client = LibraryClient()
    consumer = owner(client)
    await consumer.commit({})
    with pytest.raises(PartitionNotOwned, match=r"u\[1\]"):
        await consumer.commit({TopicPartition("u", 1): 5})
    assert client.committed_offsets == []


@pytest.mark.parametrize(
    "task", ["_fetcher._fetch_task", "_coordinator._coordination_task", "_client._sync_task"]
)
async def test_a_client_that_has_died_inside_ends_the_process(task: str) -> None:
    """It would deliver nothing, for ever and silently; a new process is the only cure."""
    client = LibraryClient()
    attrgetter(task)(client).set_exception(KeyError("a bug of the library"))
    with pytest.raises(InfrastructureError, match="has stopped") as raised:
        await poll(owner(client))
    assert type(raised.value) is InfrastructureError
    assert isinstance(raised.value.__cause__, KeyError)


async def test_a_partition_without_offset_is_named() -> None:
    client = LibraryClient(raising(library.NoOffsetForPartitionError(LibraryPartition("t", 0))))
    with pytest.raises(OffsetMissing) as raised:
        await poll(owner(client))
    assert (raised.value.group, raised.value.topic, raised.value.partition) == ("g", "t", 0)


async def test_all_missing_offsets_are_looked_up_again_after_one_is_reported() -> None:
    """The library raises one a poll; a dozen partitions would wait a dozen times, longer each time."""
    missing = library.NoOffsetForPartitionError(LibraryPartition("t", 0))
    other = FetchError(error=library.TopicAuthorizationFailedError("t"), backoff=0)
    client = LibraryClient(raising(missing))
    client._fetcher._records = {
        LibraryPartition("t", 1): FetchError(error=missing, backoff=0),
        LibraryPartition("t", 2): other,
    }

    with pytest.raises(OffsetMissing):
        await poll(owner(client))

    assert client._fetcher._records == {LibraryPartition("t", 2): other}


@pytest.mark.fault("F7", part="offsets that are not loaded yet")
async def test_offsets_that_are_not_loaded_yet_are_not_absent() -> None:
    """A broker that has just started names the group's error beside an empty list."""
    answers = [SimpleNamespace(error_code=14, topics=[]), SimpleNamespace(error_code=0, topics=[])]

    async def send(*_: object, **__: object) -> Any:
        return answers.pop(0)

    client = SimpleNamespace(_client=SimpleNamespace(send=send))
    insides.raise_group_errors(client)
    request = OffsetFetchRequest("g", [("t", [0])])

    with pytest.raises(library.GroupLoadInProgressError):
        await client._client.send(1, request, group=None)
    assert (await client._client.send(1, request, group=None)).error_code == 0


async def test_a_record_that_the_library_steps_over_stops_us() -> None:
    """It has moved its position past a record that was never delivered."""
    client = LibraryClient(raising(library.RecordTooLargeError("too large")))
    with pytest.raises(InfrastructureError) as raised:
        await poll(owner(client))
    assert type(raised.value) is InfrastructureError


async def test_a_seek_forgets_early_records() -> None:
    client = LibraryClient(lambda: {LibraryPartition("t", 0): [record(0)]})
    consumer = KafkaConsumer(client, SETTINGS, spec=SPEC)
    assert await poll(consumer) == {}
    consumer.seek(PARTITION, 7)
    consumer.set_assignment(frozenset({PARTITION}))
    consumer.allow_delivery()
    assert await poll(consumer) == {}
    assert client.sought == [(PARTITION, 7)]


async def test_nothing_more_is_read_while_records_wait_for_their_hand_out() -> None:
    """A second fetch would overwrite the first, while the client's position has moved past both."""
    fetched = []

    def poll() -> dict[Any, Any]:
        fetched.append(record(len(fetched)))
        return {PARTITION: [fetched[-1]]}

    consumer = KafkaConsumer(LibraryClient(poll), SETTINGS, spec=SPEC)
    assert await consumer.poll(max_records=1, timeout_seconds=0.01) == {}
    assert await consumer.poll(max_records=1, timeout_seconds=0.01) == {}
    consumer.allow_delivery()

    found = await consumer.poll(max_records=1, timeout_seconds=0.01)

    assert found == {PARTITION: [fetched[0]]}
    assert len(fetched) == 1


@pytest.mark.parametrize("failure", [library.CorruptRecordException("crc"), ValueError("no such frame")])
async def test_undecodable_records_raise_our_error_and_lose_nothing(failure: Exception) -> None:
    """The records that came with it are delivered first: their positions have moved on."""
    found = {LibraryPartition("t", 0): [record(0)]}
    answers: list[Any] = [found, {}]
    client = LibraryClient(lambda: answers.pop(0))
    consumer = owner(client)
    client._subscription.subscription.assignment.unpacking_failures = {PARTITION: failure}
    with pytest.raises(Unavailable, match=type(failure).__name__):
        await poll(consumer)

    def fail_while_fetching() -> Any:
        client._subscription.subscription.assignment.unpacking_failures = {PARTITION: failure}
        return answers.pop(0)

    client._poll = fail_while_fetching
    assert await poll(consumer) == found
    with pytest.raises(Unavailable, match=type(failure).__name__):
        await poll(consumer)
    with pytest.raises(Unavailable, match=type(failure).__name__):
        await poll(consumer)
