"""The command as people run it: against a real broker, one that is away, and into a pipe that closes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from confluent_kafka import Producer

from strider.contracts import TOPICS
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import Echoed, SeedSubmitted
from strider.contracts.generated.topics import ECHOES, SCHEMAS, SEEDS_SUBMITTED
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.messaging.topics import apply_topics

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
        failures: list[object] = []
        producer.produce(topic, value, on_delivery=lambda failure, _: failures.append(failure), **more)

        assert producer.flush(30) == 0
        assert failures == [None]

    yield put
    producer.flush(5)


@pytest.fixture(scope="module")
def applied(bootstrap: str) -> None:
    """All topics with their standard number of shards, as a deployment has them."""
    asyncio.run(apply_topics(KafkaConnection((bootstrap,)), TOPICS.values(), shards=12))


def test_topics_are_applied_compared_and_found_equal(strider: Command) -> None:
    """Stands first, because it wants the broker empty."""
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
    assert "commit first offsets of link-ingestion-seeds on 12 partitions" in applied.stdout
    assert (after.returncode, after.stdout) == (0, "all topics are as declared\n")
    assert json.loads(again.stdout) == {
        "create": {},
        "alter": {},
        "refused": {},
        "unknown": [],
        "private": [],
        "offsets": {},
        "busy": {},
    }


@pytest.mark.usefixtures("applied")
def test_another_number_of_shards_is_refused(strider: Command) -> None:
    refused = strider("topics", "apply", "--examples", STRIDER_SHARDS="24")
    diff = strider("topics", "diff", "--examples", STRIDER_SHARDS="24")

    assert (refused.returncode, diff.returncode) == (1, 1)
    assert "refused: echoes has partition count 12, declared is 24" in refused.stdout
    assert "Traceback" not in refused.stderr


@pytest.mark.usefixtures("applied")
async def test_a_foreign_clients_json_seed_is_read_by_tail_and_codec(
    strider: Command, bootstrap: str, foreign: Callable[..., None]
) -> None:
    """The public seeds topic: one line from any producer, no schema, no key."""
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
    assert Codec(SchemaStore.bundled()).decode(SEEDS_SUBMITTED, seed) == SeedSubmitted(
        url="https://example.org/", max_depth=1, metadata={"by": "a foreign client"}
    )


@pytest.mark.usefixtures("applied")
def test_tail_shows_good_and_bad_messages_from_where_one_wants(
    strider: Command, foreign: Callable[..., None]
) -> None:
    codec = Codec(SchemaStore.bundled())
    for text in ("one", "two"):
        event = Echoed(request_id=text, host="example.org", outcome="echoed", text=text)
        value, headers = codec.encode(ECHOES, event)
        foreign(ECHOES.name, value, key=b"example.org", partition=4, headers=list(headers))
    foreign(ECHOES.name, b"\xc3\x01", partition=4)
    foreign(ECHOES.name, None, key=b"gone", partition=4)
    foreign(SCHEMAS.name, b"no declaration", key=b"key")
    foreign(ECHOES.name, b"\xc3\x01unknown!x", partition=4)

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
        (4, "unknown_schema", None),
    ]
    # Problems with a declaration go to stderr, not among the lines.
    assert "Schema declaration unreadable" in everything.stderr
    assert lines[2]["value"] == {"base64": "wwE="}
    assert json.loads(later.stdout)["value"]["text"] == "two"
    assert json.loads(recent.stdout)["value"]["text"] == "two"
    assert (future.returncode, future.stdout) == (0, "")


@pytest.mark.usefixtures("applied")
def test_a_follower_shows_what_comes_and_ends_at_its_limit(
    bootstrap: str, strider: Command, foreign: Callable[..., None], tmp_path: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "strider.cli", "topics", "tail", SEEDS_SUBMITTED.name, "-f", "--limit", "1"],
        env=environment(KAFKA_BOOTSTRAP_SERVERS=bootstrap),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as following:
        try:
            # Where the follower begins cannot be seen from here, so messages are sent until it prints one.
            while following.poll() is None:
                foreign(SEEDS_SUBMITTED.name, SEED)
            assert following.stdout is not None
            shown = following.stdout.read()
        finally:
            following.kill()

    assert json.loads(shown)["value"]["url"] == "https://example.org/"
    assert following.returncode == 0


@pytest.mark.usefixtures("applied")
def test_a_pipe_that_closes_is_an_end_and_no_error(
    bootstrap: str, strider: Command, foreign: Callable[..., None], tmp_path: Path
) -> None:
    """`strider topics tail … | head -1` is how people look."""
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
    assert away.stderr.startswith("strider: Kafka is unavailable")
    assert away.stderr.count("\n") == 1


def test_a_topic_that_is_not_there_is_one_line_and_one(strider: Command) -> None:
    missing = strider("topics", "tail", "nowhere")

    assert (missing.returncode, missing.stderr) == (1, "strider: the broker has no topic nowhere\n")


class _Registry(BaseHTTPRequestHandler):
    """A registry that knows one schema, under the id 41."""

    def do_GET(self) -> None:
        book = SchemaStore.bundled()
        known = self.path == "/schemas/ids/41"
        body = json.dumps(
            {"schema": book.definition("echoed.v1")} if known else {"error_code": 40403}
        ).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing between the dots of a test run."""


@pytest.fixture
def registry() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Registry)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.usefixtures("applied")
def test_ids_are_looked_up_in_the_registry_that_is_set(
    strider: Command, foreign: Callable[..., None], registry: str
) -> None:
    """A Confluent producer elsewhere names its schema by id alone."""
    event = Echoed(request_id="r", host="example.org", outcome="echoed", text="by id")
    bare = Codec(SchemaStore.bundled()).encode(ECHOES, event).value[10:]
    foreign(ECHOES.name, b"\x00\x00\x00\x00\x29" + bare, partition=7)
    foreign(ECHOES.name, b"\x00\x00\x00\x00\x2a" + bare, partition=7)

    shown = strider("topics", "tail", ECHOES.name, "--partition", "7", SCHEMA_REGISTRY_URL=registry)

    lines = [json.loads(line) for line in shown.stdout.splitlines()]
    assert shown.returncode == 0, shown.stderr
    assert lines[0]["value"]["text"] == "by id"
    assert (lines[1]["error"], lines[1]["detail"]) == ("unknown_schema", "no schema with id 42")
