"""The command as people run it: against a real broker, one that is away, and into a pipe that closes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from strider.contracts import TOPICS
from strider.contracts.book import SchemaBook
from strider.contracts.codec import Codec
from strider.contracts.generated.events import Echoed, SeedSubmitted
from strider.contracts.generated.topics import ECHOES, SEEDS_SUBMITTED
from strider.runtime.kafka import KafkaBus, KafkaConnection
from strider.runtime.ports import TopicPartition

SEED = b'{"url":"https://example.org/","max_depth":1,"metadata":{"by":"a foreign client"}}'
SECONDS = 60.0

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(**changes: str) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KAFKA_", "STRIDER_"))}
    return kept | changes


@pytest.fixture
def strider(bootstrap: str, tmp_path: Path) -> Command:
    """Run the command where no stack is, with the broker named by the environment."""

    def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "strider.cli", *arguments],
            env=environment(KAFKA_BOOTSTRAP_SERVERS=bootstrap, **changes),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    return run


@pytest.fixture
def foreign(bootstrap: str) -> Iterator[Callable[..., None]]:
    """A client that knows nothing of ours: librdkafka."""
    producer = Producer({"bootstrap.servers": bootstrap})

    def put(topic: str, value: bytes | None, **more: Any) -> None:
        producer.produce(topic, value, **more)
        assert producer.flush(30) == 0

    yield put
    producer.flush(5)


def test_topics_are_applied_compared_and_found_equal(strider: Command) -> None:
    before = strider("topics", "diff", "--examples")
    dry = strider("topics", "apply", "--examples", "--dry-run", "--json")
    applied = strider("topics", "apply", "--examples")
    after = strider("topics", "diff", "--examples")
    again = strider("topics", "apply", "--examples", "--json")

    assert before.returncode == 1
    assert "would create seeds-submitted with 12 partitions" in before.stdout
    assert dry.returncode == 0
    assert set(json.loads(dry.stdout)["create"]) == set(TOPICS)
    assert "link-ingestion-seeds" in json.loads(dry.stdout)["offsets"]
    assert applied.returncode == 0, applied.stderr
    assert "give link-ingestion-seeds its first offsets, on 12 partitions" in applied.stdout
    assert (after.returncode, after.stdout) == (0, "all topics are as they are declared\n")
    assert json.loads(again.stdout) == {
        "create": {},
        "alter": {},
        "refused": {},
        "unknown": [],
        "offsets": {},
        "busy": {},
    }


def test_another_number_of_shards_is_refused(strider: Command) -> None:
    strider("topics", "apply", "--examples")

    refused = strider("topics", "apply", "--examples", STRIDER_SHARDS="24")
    diff = strider("topics", "diff", "--examples", STRIDER_SHARDS="24")

    assert (refused.returncode, diff.returncode) == (1, 1)
    assert "refused: echoes has 12 partitions, 24 are declared" in refused.stdout
    assert "Traceback" not in refused.stderr


async def test_a_foreign_clients_json_seed_is_read_by_tail_and_codec(
    strider: Command, bootstrap: str, foreign: Callable[..., None]
) -> None:
    """The public front door: one line from anybody's producer, no schema, no key."""
    strider("topics", "apply")
    foreign(SEEDS_SUBMITTED.name, SEED, partition=0)

    shown = strider("topics", "tail", SEEDS_SUBMITTED.name, "--where", "metadata.by=a foreign client")
    bus = KafkaBus(KafkaConnection((bootstrap,)))
    reader = await bus.reader([TopicPartition(SEEDS_SUBMITTED.name, 0)])
    (records,) = (await reader.poll(max_records=10, timeout_seconds=30)).values()
    await bus.close()
    (seed,) = [record.value for record in records if record.value == SEED]

    assert shown.returncode == 0, shown.stderr
    (line,) = map(json.loads, shown.stdout.splitlines())
    assert (line["value"]["url"], line["value"]["max_depth"], line["value"]["priority"]) == (
        "https://example.org/",
        1,
        3,
    )
    assert Codec(SchemaBook.embedded()).decode(SEEDS_SUBMITTED, seed) == SeedSubmitted(
        url="https://example.org/", max_depth=1, metadata={"by": "a foreign client"}
    )


def test_tail_shows_good_and_bad_messages_from_where_one_wants(
    strider: Command, foreign: Callable[..., None]
) -> None:
    strider("topics", "apply", "--examples")
    codec = Codec(SchemaBook.embedded())
    for text in ("one", "two"):
        event = Echoed(request_id=text, host="example.org", outcome="echoed", text=text)
        value, headers = codec.encode(ECHOES, event)
        foreign(ECHOES.name, value, key=b"example.org", partition=4, headers=list(headers))
    foreign(ECHOES.name, b"\xc3\x01", partition=4)
    foreign(ECHOES.name, None, key=b"gone", partition=4)

    everything = strider("topics", "tail", ECHOES.name, "--from-beginning", "--partition", "4")
    later = strider("topics", "tail", ECHOES.name, "--partition", "4", "--from-offset", "1", "--limit", "1")
    recent = strider("topics", "tail", ECHOES.name, "--since", "1h", "--where", "text=two")
    future = strider("topics", "tail", ECHOES.name, "--since", "2100-01-01")

    lines = [json.loads(line) for line in everything.stdout.splitlines()]
    assert [
        (line["offset"], line.get("error"), line["value"] and line["value"].get("text")) for line in lines
    ] == [
        (0, None, "one"),
        (1, None, "two"),
        (2, "truncated", None),
        (3, None, None),
    ]
    assert lines[2]["value"] == {"base64": "wwE="}
    assert json.loads(later.stdout)["value"]["text"] == "two"
    assert json.loads(recent.stdout)["value"]["text"] == "two"
    assert (future.returncode, future.stdout) == (0, "")


def test_a_follower_shows_what_comes_and_ends_at_its_limit(
    bootstrap: str, strider: Command, foreign: Callable[..., None], tmp_path: Path
) -> None:
    strider("topics", "apply")
    with subprocess.Popen(
        [sys.executable, "-m", "strider.cli", "topics", "tail", SEEDS_SUBMITTED.name, "-f", "--limit", "1"],
        env=environment(KAFKA_BOOTSTRAP_SERVERS=bootstrap),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as following:
        try:
            # Where the follower begins cannot be seen from here, so it is spoken to until it answers.
            while following.poll() is None:
                foreign(SEEDS_SUBMITTED.name, SEED)
            assert following.stdout is not None
            shown = following.stdout.read()
        finally:
            following.kill()

    assert json.loads(shown)["value"]["url"] == "https://example.org/"
    assert following.returncode == 0


def test_a_pipe_that_closes_is_an_end_and_no_error(
    bootstrap: str, strider: Command, foreign: Callable[..., None], tmp_path: Path
) -> None:
    """`strider topics tail … | head -1` is how people look."""
    strider("topics", "apply")
    for _ in range(300):
        foreign(SEEDS_SUBMITTED.name, SEED, partition=1)
    piped = subprocess.run(
        f"{sys.executable} -m strider.cli topics tail {SEEDS_SUBMITTED.name} --from-beginning | head -n 1",
        shell=True,
        env=environment(KAFKA_BOOTSTRAP_SERVERS=bootstrap),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert (piped.returncode, piped.stderr) == (0, "")
    assert json.loads(piped.stdout)["topic"] == SEEDS_SUBMITTED.name


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("apply",), id="apply"),
        pytest.param(("diff",), id="diff"),
        pytest.param(("tail", "echoes"), id="tail"),
    ],
)
def test_a_broker_that_is_away_is_one_line_and_three(strider: Command, arguments: tuple[str, ...]) -> None:
    away = strider("topics", *arguments, "--bootstrap", "127.0.0.1:1")

    assert (away.returncode, away.stdout) == (3, "")
    assert away.stderr.startswith("strider: kafka is unavailable")
    assert away.stderr.count("\n") == 1


def test_a_topic_that_is_not_there_is_one_line_and_one(strider: Command) -> None:
    missing = strider("topics", "tail", "nowhere")

    assert (missing.returncode, missing.stderr) == (1, "strider: the broker has no topic nowhere\n")
