from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from strider.localstack.errors import SetupFailure
from strider.localstack.servers.kafka_jars import KafkaJar, ensure_jars, is_intact, read_lock

CONTENT = b"not much of a jar"
JAR = KafkaJar("a.b", "c", "1.0", sha256=hashlib.sha256(CONTENT).hexdigest(), size_bytes=len(CONTENT))
NOWHERE = {"STRIDER_JARS_URL": "file:///nowhere"}


def _cached(cache: Path, content: bytes) -> Path:
    path = cache / "kafka-4.3.1" / JAR.file_name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def test_the_lock_names_every_jar_once_with_its_hash() -> None:
    jars = read_lock()

    assert len(jars) == len({jar.file_name for jar in jars}) == 46
    assert all(re.fullmatch("[0-9a-f]{64}", jar.sha256) and jar.size_bytes > 0 for jar in jars)


def test_the_lock_has_the_logging_that_the_broker_can_use() -> None:
    """Kafka 4.3 uses slf4j 1.7: with the backend for 2 it starts and says nothing."""
    names = {(jar.artifact, jar.version.split(".")[0]) for jar in read_lock()}

    assert ("log4j-slf4j-impl", "2") in names
    assert ("slf4j-api", "1") in names
    assert not any(artifact == "log4j-slf4j2-impl" for artifact, _ in names)


def test_intact_jars_are_used_without_a_download(tmp_path: Path) -> None:
    path = _cached(tmp_path, CONTENT)
    said: list[str] = []

    assert ensure_jars(tmp_path, environment=NOWHERE, jars=[JAR], report=said.append) == path.parent
    assert said == []


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(CONTENT[:-1], id="cut-off"),
        pytest.param(b"N" + CONTENT[1:], id="changed"),
        pytest.param(b"", id="empty"),
    ],
)
def test_a_broken_jar_is_noticed(tmp_path: Path, content: bytes) -> None:
    path = _cached(tmp_path, content)

    assert not is_intact(JAR, path.parent)


def test_an_unwritable_cache_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "kafka-4.3.1").touch()

    with pytest.raises(SetupFailure, match=r"^the cache .* cannot be written .*STRIDER_CACHE"):
        ensure_jars(tmp_path, environment=NOWHERE, jars=[JAR])
