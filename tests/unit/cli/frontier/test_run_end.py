"""Waiting for the ends of runs: where they are read, and what the exit code says."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from strider.cli.connections import MissingTopic
from strider.cli.exit_codes import CommandExit
from strider.cli.frontier.run_end import RunEndReader, end_exit_code, end_fields, print_end
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_COMMANDS, JOB_EVENTS
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus, simulate
from strider.messaging.ports import OutgoingMessage

CODEC = Codec(SchemaStore.bundled())


def an_end(run: str = "spring", **changes: Any) -> JobEvent:
    about: dict[str, Any] = {
        "state_after": "completed",
        "pages": 2,
        "bytes": 900,
        "seconds": 7,
        "counts": {"accepted": 3, "settled": 2, "not_found": 1},
        **changes,
    }
    return JobEvent(run, "run_completed", is_wish=False, at_ms=9, by="ann", execution_id=run, **about)


def put(broker: InProcessBroker, topic: Any, event: JobEvent) -> None:
    broker.append(OutgoingMessage(topic.name, topic.key_of(event), CODEC.encode(topic, event).value))


def a_broker() -> InProcessBroker:
    broker = InProcessBroker(clock=EventLoopClock())
    for topic in (JOB_EVENTS, JOB_COMMANDS):
        broker.declare_topic(topic, shards=1)
    return broker


def test_the_first_end_of_a_run_counts_and_a_missing_one_is_waited_for() -> None:
    """Of a run that has ended long ago only job-commands has the end."""

    async def scenario() -> dict[str, JobEvent]:
        broker = a_broker()
        put(broker, JOB_COMMANDS, an_end("old"))
        put(broker, JOB_EVENTS, an_end("spring"))
        put(broker, JOB_EVENTS, an_end("spring", pages=99))
        reader = RunEndReader(InProcessBus(broker))
        await reader.read_to_end()
        waiting = asyncio.create_task(reader.wait_for(["old", "spring", "later"]))
        await asyncio.sleep(5)
        assert not waiting.done()
        broker.set_unavailable("no broker")
        await asyncio.sleep(5)
        assert not waiting.done()
        broker.set_available()
        put(broker, JOB_EVENTS, an_end("later"))
        ends = await waiting
        await reader.close()
        return dict(ends)

    assert simulate(scenario()) == {"old": an_end("old"), "spring": an_end(), "later": an_end("later")}


def test_a_broker_without_the_topics_is_reported() -> None:
    async def scenario() -> None:
        await RunEndReader(InProcessBus(InProcessBroker(clock=EventLoopClock()))).read_to_end()

    with pytest.raises(MissingTopic, match="job-events"):
        simulate(scenario())


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ([an_end()], CommandExit.DONE),
        ([an_end(), an_end("b", state_after="cancelled")], CommandExit.FAILED),
        ([an_end(counts={"accepted": 0})], CommandExit.FAILED),
    ],
    ids=["completed", "cancelled", "nothing accepted"],
)
def test_the_exit_code_shows_whether_the_run_has_crawled(ends: list[JobEvent], code: CommandExit) -> None:
    assert end_exit_code({end.execution_id: end for end in ends}) is code


def test_an_end_is_printed_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_end(an_end())
    print_end(an_end("empty", counts={"accepted": 0}, pages=0, bytes=0, seconds=0))

    assert capsys.readouterr().out.splitlines() == [
        "spring completed: 2 pages, 900 bytes, 7 s; 2 settled, 1 not_found",
        "empty completed: 0 pages, 0 bytes, 0 s; no URL was accepted (strider why URL)",
    ]
    assert end_fields(an_end())["outcomes"] == {"settled": 2, "not_found": 1}
