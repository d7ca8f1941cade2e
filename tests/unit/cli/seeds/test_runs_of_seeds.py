"""`strider seeds add --wait`: the runs of the seeds are closed once these are acknowledged."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from strider.cli.seeds.credentials import SeedCredentials
from strider.cli.seeds.reader import BadLine, InputLine, SeedMessage, SeedReader
from strider.cli.seeds.sender import SeedSender, SendListener
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import SEEDS_OWNED, SEEDS_SUBMITTED
from strider.contracts.owner_signature import SenderRole, identify_sender
from strider.link_ingestion.core import ClosedRun, close_run
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus, simulate
from strider.messaging.ports import Record
from strider.testing.owner import OWNER_KEY

CODEC = Codec(SchemaStore.bundled())
LIMITED = '{"url": "https://a.test/2", "max_pages": 9}'


def a_reader(key: str, **options: Any) -> SeedReader:
    options = {"execution_id": "spring", **options}
    return SeedReader(options, credentials=SeedCredentials(key), allow_private=False, now_ms=77)


def publish(key: str, *lines: str, closes_runs: bool = True) -> list[tuple[SeedSubmitted, Record]]:
    """Publish seeds of one partition; return what is on the topic."""
    topic = SEEDS_OWNED if key else SEEDS_SUBMITTED

    async def numbered() -> AsyncIterator[InputLine | BadLine]:
        for line in lines:
            yield InputLine("", line)

    async def scenario() -> list[Record]:
        broker = InProcessBroker(clock=EventLoopClock())
        broker.declare_topic(topic, shards=1)
        listener = SendListener(sent=lambda *_: None, bad=lambda _: None, warning=lambda _: None)
        sender = SeedSender(InProcessBus(broker), a_reader(key), listener=listener, closes_runs=closes_runs)
        await sender.send(numbered())
        return list(broker.topic(topic.name).partitions[0].records)

    return [(CODEC.decode(topic, each.value, each.headers), each) for each in simulate(scenario())]


def closed_runs(published: list[tuple[SeedSubmitted, Record]], sender: SenderRole) -> list[str]:
    """Return the runs that link-ingestion closes."""
    results = [close_run(seed, sender=sender, known_specs={}) for seed, _ in published if seed.close]
    return [result.execution_id for result in results if isinstance(result, ClosedRun)]


@pytest.mark.parametrize(("key", "role"), [(OWNER_KEY, SenderRole.OWNER), ("", SenderRole.RAW)])
def test_each_run_is_closed_once_behind_its_seeds(key: str, role: SenderRole) -> None:
    """The runs of raw seeds with limits have names of their own."""
    published = publish(key, "https://a.test/1", "https://a.test/3", LIMITED)
    signers = {identify_sender(each.value or b"", each.headers, key=OWNER_KEY) for _, each in published}
    reader, named = a_reader(key), []
    for line in ("https://a.test/1", LIMITED):
        message = reader.read(InputLine("", line))
        assert isinstance(message, SeedMessage)
        named.append(message.execution_id)

    assert [seed.close for seed, _ in published[:3]] == [False] * 3
    assert signers == {role}
    assert closed_runs(published, role) == list(dict.fromkeys(named))
    assert ("spring" in named) is (role is SenderRole.OWNER)


def test_without_the_option_no_run_is_closed() -> None:
    assert [seed.close for seed, _ in publish(OWNER_KEY, "https://a.test/1", closes_runs=False)] == [False]


def test_a_document_may_name_its_run() -> None:
    """By either name of the field; the option applies where it names none."""
    lines = [json.dumps({"url": "https://a.test/", name: "own"}) for name in ("run", "execution_id")]
    messages = [a_reader(OWNER_KEY).read(InputLine("", line)) for line in lines]

    assert [each.execution_id for each in messages if isinstance(each, SeedMessage)] == ["own", "own"]


def test_a_run_that_is_named_by_its_settings_is_closed() -> None:
    """The limits of a raw run are part of its name, wherever they are set."""
    line = '{"url": "https://a.test/2", "spec": {"max_pages": 9}}'
    message = a_reader("").read(InputLine("", line))

    assert isinstance(message, SeedMessage)
    assert closed_runs(publish("", line), SenderRole.RAW) == [message.execution_id]
    assert message.execution_id.startswith("raw-")
