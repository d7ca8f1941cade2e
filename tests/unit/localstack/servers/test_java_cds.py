"""The archive of Java's classes: whose it is, when it goes, and that nothing depends on it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from strider.localstack.servers.java_cds import ARCHIVE, FOLDER, OWNER, ensure_archive, find_archive
from strider.localstack.servers.kafka import KafkaServer


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """A runtime that can do nothing."""
    program, modules = tmp_path / "jre/bin/java", tmp_path / "jre/lib/modules"
    for path in (program, modules):
        path.parent.mkdir(parents=True, exist_ok=True)
    modules.write_bytes(b"classes")
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    return program


def a_part(java: Path, tmp_path: Path) -> KafkaServer:
    return KafkaServer(tmp_path / "kafka", 1, 2, java=java, jars=tmp_path)


def test_a_java_that_makes_none_costs_nothing_but_the_speed(java: Path, tmp_path: Path) -> None:
    """A broker that starts slowly is still a broker."""
    cache = tmp_path / "cache"

    assert ensure_archive(a_part(java, tmp_path), cache=cache) is None
    assert find_archive(java, cache=cache) is None
    assert not (tmp_path / "kafka").exists()


def test_what_is_there_belongs_to_this_runtime_alone(java: Path, tmp_path: Path) -> None:
    """Java refuses an archive whose classes have another time, so it would be kept for nothing."""
    cache = tmp_path / "cache"
    ensure_archive(a_part(java, tmp_path), cache=cache)
    (place,) = (cache / FOLDER).iterdir()
    (place / ARCHIVE).write_bytes(b"")

    assert ensure_archive(a_part(java, tmp_path), cache=cache) == place / ARCHIVE
    os.utime(java.parents[1] / "lib/modules", (1, 1))
    assert find_archive(java, cache=cache) is None


def test_the_archive_of_a_runtime_that_is_gone_goes_when_the_next_is_made(java: Path, tmp_path: Path) -> None:
    """It is as large as Kafka itself, and every checkout has a runtime of its own."""
    folder = tmp_path / "cache" / FOLDER
    for name, owner in {"gone": tmp_path / "nowhere", "living": java}.items():
        (folder / name).mkdir(parents=True)
        (folder / name / OWNER).write_text(str(owner))

    ensure_archive(a_part(java, tmp_path), cache=tmp_path / "cache")

    assert (folder / "living").exists()
    assert not (folder / "gone").exists()
