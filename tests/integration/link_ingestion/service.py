"""link-ingestion as a real process, and what tests read from the broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.testing.owner import OWNER_SETTINGS

SHARDS = 4
DEADLINE_SECONDS = 60.0
OWN_PREFIXES = ("STRIDER_", "KAFKA_", "REDIS_", "LINK_INGESTION_", "OBJECT_STORE_", "CRAWLER_")
CODEC = Codec(SchemaStore.bundled())


def wait_for(question: Callable[[], Any]) -> Any:
    """Ask until the answer is not empty, and give it; fail when that takes too long."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (answer := question()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)  # each question costs more than this wait
    return answer


class Service:
    """The process; `kill` ends it as a power cut does, `start` begins another one."""

    def __init__(self, bootstrap: str, redis_url: str, log: Path, **settings: str) -> None:
        self.log = log
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OWN_PREFIXES)}
        self._environment = kept | {
            "KAFKA_BOOTSTRAP_SERVERS": bootstrap,
            "KAFKA_SESSION_TIMEOUT": "6s",
            "REDIS_URL": redis_url,
            "STRIDER_SHARDS": str(SHARDS),
            **OWNER_SETTINGS,
            **settings,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "strider.link_ingestion"],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(DEADLINE_SECONDS)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()


class Reader:
    """Reads a topic from the beginning, as a foreign client does."""

    def __init__(self, bootstrap: str, topic: Topic[Any]) -> None:
        self._topic = topic
        self._client = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False}
        )
        count = len(self._client.list_topics(topic.name, timeout=20).topics[topic.name].partitions)
        self._client.assign([TopicPartition(topic.name, number, 0) for number in range(count)])
        self._found: list[tuple[int, Any]] = []

    def events(self) -> list[tuple[int, Any]]:
        """All events so far, each with its partition."""
        while (message := self._client.poll(0.2)) is not None:
            self._found.append((message.partition() or 0, self._event(message)))
        return self._found

    def close(self) -> None:
        self._client.close()

    def _event(self, message: Message) -> Any:
        assert message.error() is None, message.error()
        headers = [(name, content) for name, content in message.headers() or () if isinstance(content, bytes)]
        return CODEC.decode(self._topic, message.value(), headers)
