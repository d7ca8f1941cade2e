"""What a stranger may do to a topic that anyone may write, and that services continue all the same."""

from __future__ import annotations

import asyncio
import os
import struct
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.record.util import calc_crc32c

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import DeadLetter
from strider.contracts.generated.topics import ECHO_DLQ, ECHO_REQUESTS, ECHOES, TALLY_DLQ, TOPICS
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.messaging.topics import apply_topics
from strider.testing.stack import ServerStack
from tests.integration.examples.processes import SHARDS, ServiceProcess
from tests.integration.messaging.conftest import create_topic
from tests.integration.messaging.processes import until

Start = Callable[..., ServiceProcess]
CODEC = Codec(SchemaStore.bundled())
_CRC, _CHECKED = 17, 21


@pytest.fixture
async def stranger(kafka_bootstrap: str) -> AsyncIterator[Any]:
    """Write whatever the broker takes."""
    client: Any = AIOKafkaProducer(
        bootstrap_servers=kafka_bootstrap,
        enable_idempotence=False,
        compression_type="zstd",
        max_request_size=8_000_000,
    )
    await client.start()
    yield client
    await client.stop()


@pytest.fixture
async def topics(stack: ServerStack) -> None:
    wanted: list[Topic[Any]] = [t for t in TOPICS.values() if t.profile == "example" or t.name == "schemas"]
    await apply_topics(KafkaConnection((stack.kafka.address,)), wanted, shards=SHARDS)


@pytest.fixture
def start(tmp_path: Path, stack: ServerStack) -> Iterator[Start]:
    running: list[ServiceProcess] = []

    def launch(name: str, **environ: str) -> ServiceProcess:
        running.append(ServiceProcess(name, stack.kafka.address, tmp_path / f"{name}.log", environ))
        return running[-1]

    yield launch
    for process in running:
        process.close()


async def send_unreadable_name(client: Any, topic: str, *, key: bytes, value: bytes) -> None:
    """Send one record with a header name that is no UTF-8: the library's producer cannot, so it is forged."""
    batch = client.create_batch()
    batch.append(key=key, value=value, timestamp=None, headers=[("XY", b"1")])
    batch.close()
    batch._build()
    body = bytes(batch._buffer[_CHECKED:])
    forged = body.replace(b"XY", b"\xff\xfe")
    assert forged != body
    batch._buffer = bytes(batch._buffer[:_CRC]) + struct.pack(">I", calc_crc32c(forged)) + forged
    await asyncio.wait_for(await client.send_batch(batch, topic, partition=0), 10)


async def letter_about(bus: KafkaBus, topic: Topic[Any], key: bytes | None, offset: int) -> DeadLetter:
    """Wait for the dead letter of a message of partition 0."""
    reader = await bus.reader([TopicPartition(topic.name, 0)])
    found: list[DeadLetter] = []

    async def has_come() -> bool:
        for records in (await reader.poll(max_records=100, timeout_seconds=0.5)).values():
            for record in records:
                letter: DeadLetter = CODEC.decode(topic, record.value, record.headers)
                if (letter.partition, letter.offset) == (0, offset) and letter.key in {key, None}:
                    found.append(letter)
        return bool(found)

    await until(has_come, what=f"a letter in {topic.name} about offset {offset}")
    return found[0]


async def test_a_header_name_that_is_no_text_holds_up_no_reader(kafka_bootstrap: str, bus: KafkaBus) -> None:
    """The client library raises on it at every attempt, and nothing after it would ever be read."""
    topic = await create_topic(kafka_bootstrap, 1)
    plain: Any = AIOKafkaProducer(bootstrap_servers=kafka_bootstrap, enable_idempotence=False)
    await plain.start()
    await plain.send_and_wait(topic, b"before", partition=0)
    await send_unreadable_name(plain, topic, key=b"k", value=b"bad name")
    await plain.send_and_wait(topic, b"after", partition=0)
    await plain.stop()
    reader = await bus.reader([TopicPartition(topic, 0)])
    found: list[Any] = []

    async def is_read() -> bool:
        for records in (await reader.poll(max_records=10, timeout_seconds=30)).values():
            found.extend((record.value, record.headers) for record in records)
        return len(found) >= 3

    await until(is_read, what="three records")
    assert found == [(b"before", ()), (b"bad name", (("\\xff\\xfe", b"1"),)), (b"after", ())]


@pytest.mark.usefixtures("topics")
async def test_a_service_without_object_store_keeps_the_worst_and_continues(
    kafka_bootstrap: str, bus: KafkaBus, stranger: Any, start: Start
) -> None:
    """A name that is no text, the largest value that a dead letter holds, and a larger one."""
    largest, too_large = os.urandom(384 * 1024 - 200), os.urandom(1_000_000)
    key = uuid.uuid4().bytes
    plain: Any = AIOKafkaProducer(bootstrap_servers=kafka_bootstrap, enable_idempotence=False)
    await plain.start()
    await send_unreadable_name(plain, ECHO_REQUESTS.name, key=key, value=b"no event")
    await plain.stop()
    sent = await stranger.send_and_wait(ECHO_REQUESTS.name, largest, key=key, partition=0)
    await stranger.send_and_wait(ECHO_REQUESTS.name, too_large, key=key, partition=0)
    start("echo", OBJECT_STORE_URL="")

    named = await letter_about(bus, ECHO_DLQ, key, sent.offset - 1)
    large = await letter_about(bus, ECHO_DLQ, key, sent.offset)
    assert (named.value, named.header_names, named.header_values) == (b"no event", ("\\xff\\xfe",), (b"1",))
    cut = await letter_about(bus, ECHO_DLQ, key, sent.offset + 1)
    assert (large.reason, large.value, large.value_object) == ("too_large", largest, "")
    assert cut.value is not None
    assert too_large.startswith(cut.value)
    assert len(cut.value) > 384 * 1024 - 500
    assert (cut.reason, cut.value_bytes, cut.value_sha256) == (
        "too_large",
        len(too_large),
        sha256(too_large).hexdigest(),
    )
    assert cut.header_names == ("strider-truncated",)
    assert cut.error_message.startswith("truncated: without the last ")


@pytest.mark.usefixtures("topics")
@pytest.mark.parametrize(
    ("service", "reads", "writes"),
    [
        pytest.param("echo", ECHO_REQUESTS, ECHO_DLQ, id="echo"),
        pytest.param("tally", ECHOES, TALLY_DLQ, id="tally"),
    ],
)
async def test_what_no_dead_letter_holds_goes_to_the_object_store(
    service: str,
    reads: Topic[Any],
    writes: Topic[Any],
    *,
    bus: KafkaBus,
    stranger: Any,
    start: Start,
    tmp_path: Path,
) -> None:
    """A key of this size fits no dead letter; with a store nothing of it is cut."""
    sent = await stranger.send_and_wait(reads.name, b"no event", key=os.urandom(400_000), partition=0)
    start(service, OBJECT_STORE_URL=(tmp_path / "objects").as_uri())

    letter = await letter_about(bus, writes, None, sent.offset)
    assert (letter.value, letter.header_names) == (b"no event", ("strider-claimed-headers",))
    assert (tmp_path / "objects" / letter.header_values[0].decode()).is_file()
