"""Commands whose standard streams are closed, or cannot be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

UNWRITTEN = "strider: the output cannot be written"
FULL = Path("/dev/full")
COMMAND = f"{sys.executable} -m strider.cli"


def run(line: str) -> tuple[int, str]:
    """Run a shell line with redirections; returns exit code and standard error."""
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("line", "code", "errors"),
    [
        pytest.param(
            "{} topics list >&-", 1, "strider: the output cannot be written: Bad file descriptor\n", id="out"
        ),
        pytest.param("{} topics list >&- 2>&-", 1, "", id="out-and-err"),
        pytest.param("{} topics list | true", 0, "", id="closed-pipe"),
        pytest.param("{} parse - <&- > /dev/stderr", 1, "empty: nothing to parse\n", id="in"),
        pytest.param("{} parse --list - <&-", 0, "", id="an-empty-list"),
        pytest.param("{} robots check --file - http://a.test/ <&- >&2", 0, "allowed", id="robots"),
        pytest.param("{} crawl - <&-", 2, "strider: the input contains no URL", id="no-urls"),
    ],
)
def test_a_closed_stream_is_an_empty_one_or_a_sentence(line: str, code: int, errors: str) -> None:
    """Programs that start commands close the streams that they do not need."""
    ended, complained = run(line.replace("{}", COMMAND))

    assert ended == code, complained
    assert complained.startswith(errors)
    assert "Traceback" not in complained
    assert complained.count("\n") <= 3


@pytest.mark.skipif(not FULL.exists(), reason="the system has no device that is always full")
def test_a_full_disk_is_reported_once() -> None:
    assert run(f"{COMMAND} topics list > {FULL}") == (
        1,
        f"{UNWRITTEN}: No space left on device\n",
    )
