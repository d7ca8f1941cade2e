from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strider.localstack.process.identity import identify
from strider.testing.temp_dirs import remove_abandoned, temp_server_directory

A_RUN_THAT_IS_KILLED = """
import os, signal, sys
from pathlib import Path
from strider.localstack.process.child import LaunchSpec, start_process
from strider.testing.temp_dirs import temp_server_directory
with temp_server_directory(Path(sys.argv[1])) as place:
    start_process(LaunchSpec("server", ("sleep", "60"), place, place / "server.log", place / "server.pid"))
    while not (place / "server.pid").read_text().endswith(chr(10)): pass
    os.kill(os.getpid(), signal.SIGKILL)
"""


@contextmanager
def _server_of(place: Path) -> Iterator[int]:
    pid = int((place / "server.pid").read_text())
    try:
        yield pid
    finally:
        if identify(pid):
            os.kill(pid, signal.SIGKILL)


def test_what_a_killed_run_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    """A broker holds half a gigabyte, and no other process knows that it is there."""
    killed = subprocess.run((sys.executable, "-c", A_RUN_THAT_IS_KILLED, str(tmp_path)), check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    with _server_of(left) as server:
        assert identify(server) is not None

        with temp_server_directory(tmp_path) as place:
            assert list(tmp_path.iterdir()) == [place]
            until = time.monotonic() + 5
            while identify(server) is not None and time.monotonic() < until:
                time.sleep(0.005)

            assert identify(server) is None


def test_a_run_that_still_exists_is_left_alone(tmp_path: Path) -> None:
    """Two test runs on one machine are the ordinary case."""
    with temp_server_directory(tmp_path) as place:
        assert remove_abandoned(tmp_path) == []
        assert place.is_dir()

    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_does_not_name_its_owner_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "strider-test-foreign").mkdir()
    (tmp_path / "strider-test-torn").mkdir()
    (tmp_path / "strider-test-torn" / "owner.json").write_text(json.dumps({"pid": 1})[:-1])

    assert remove_abandoned(tmp_path) == []
    assert len(list(tmp_path.iterdir())) == 2


def test_other_accounts_can_pass_through(tmp_path: Path) -> None:
    """PostgreSQL runs as one of them when the tests run as root."""
    with temp_server_directory(tmp_path) as place:
        assert place.stat().st_mode & 0o777 == 0o755
