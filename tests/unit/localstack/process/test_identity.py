from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from strider.localstack.process.identity import (
    ProcessIdentity,
    identify,
    is_alive,
    send_signal,
    start_time_seconds,
)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(("sleep", "60"), start_new_session=True) as process:
        yield process
        process.kill()


def test_a_running_process_is_the_one_that_it_was(sleeper: subprocess.Popen[bytes]) -> None:
    identity = identify(sleeper.pid)

    assert identity is not None
    assert identity.pid == sleeper.pid
    assert is_alive(identity)


@pytest.mark.parametrize("group", [pytest.param(False, id="alone"), pytest.param(True, id="group")])
def test_a_recycled_number_is_never_signalled(sleeper: subprocess.Popen[bytes], group: bool) -> None:
    """The same number with another start is another process."""
    identity = identify(sleeper.pid)
    assert identity is not None
    stranger = replace(identity, started="some boot:1")

    assert not is_alive(stranger)
    assert not send_signal(stranger, signal.SIGKILL, group=group)
    assert sleeper.poll() is None


def test_a_process_whose_parent_has_not_looked_yet_counts_as_ended() -> None:
    """A zombie holds its number, and nothing else: waiting for it would never end."""
    with subprocess.Popen(("true",)) as process:
        until = time.monotonic() + 5
        while identify(process.pid) is not None and time.monotonic() < until:
            time.sleep(0.005)

        assert identify(process.pid) is None


def test_no_process_has_no_identity() -> None:
    assert identify(2**22 + 1) is None
    assert not is_alive(ProcessIdentity(2**22 + 1, "any"))


def test_the_moment_of_a_start_is_known(sleeper: subprocess.Popen[bytes]) -> None:
    began = start_time_seconds(sleeper.pid)

    assert began is not None
    assert abs(time.time() - began) < 2


def test_we_know_ourselves() -> None:
    identity = identify(os.getpid())

    assert identity is not None
    assert is_alive(identity)
