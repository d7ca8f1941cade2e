"""The broker of the tests starts from classes that Java has read before."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from strider.localstack.servers.binaries import find_java
from strider.localstack.servers.java_cds import ARCHIVE, find_archive
from strider.localstack.servers.kafka_jars import cache_directory
from strider.testing.stack import ServerStack


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files a process has mapped")
def test_java_takes_the_archive(stack: ServerStack) -> None:
    """What it does not like of one it leaves aside without a word, and starts at three times the cost."""
    if not stack.kafka.is_ours:
        pytest.skip("the environment names another broker")
    archive = find_archive(find_java(), cache=cache_directory(os.environ))

    assert archive is not None
    assert archive.name == ARCHIVE
    assert str(archive) in Path(f"/proc/{stack.kafka.pid}/maps").read_text()
