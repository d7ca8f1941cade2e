"""Kafka's data deleted, Redis' kept: the local stack comes up again by itself."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from strider.localstack.stack_state import READY
from strider.testing.temp_dirs import temp_server_directory

from .command import a_stack, wait_for

pytestmark = pytest.mark.timeout(400)
"""Starting Java twice and a scheduler three times, on a machine that does other things as well."""

WORDS = ("--only", "kafka,redis,scheduler")


@pytest.fixture
def place() -> Iterator[Path]:
    with temp_server_directory() as directory:
        yield directory


def test_down_deleted_kafka_data_and_up_again(place: Path) -> None:
    """A shard's epoch in Redis is higher than any that the new cluster gives for a long time."""
    with a_stack(place, *WORDS) as stack:
        before = stack.process("scheduler")
        os.kill(stack.pids()["scheduler"], signal.SIGKILL)  # so that each shard is taken twice
        assert wait_for(lambda: stack.process("scheduler").restarts > before.restarts)
        assert wait_for(lambda: stack.process("scheduler").state == READY), stack.logs()
        stack.must("down")
        shutil.rmtree(stack.home.data("kafka"))

        stack.must("up", *WORDS)

        assert wait_for(lambda: stack.process("scheduler").state == READY), stack.logs()
        rebuilt = stack.must("logs", "scheduler", "-n", "400").count("Shard of another cluster")
        assert rebuilt == 12
        assert stack.process("scheduler").restarts == 0
