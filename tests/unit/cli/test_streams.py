"""Commands whose streams were closed, or lead nowhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

UNWRITTEN = "strider: the output cannot be written"
FULL = Path("/dev/full")
COMMAND = f"{sys.executable} -m strider.cli"


def run(line: str) -> tuple[int, str]:
    """Let a shell do to the streams what is said, and give the code and what was complained about."""
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        pytest.param(
            "{} topics list >&-", 1, "strider: the output cannot be written: Bad file descriptor\n", id="out"
        ),
        pytest.param("{} topics list >&- 2>&-", 1, "", id="out-and-err"),
        pytest.param("{} topics list | true", 0, "", id="nobody-reads"),
        pytest.param("{} parse - <&- > /dev/stderr", 1, "empty: nothing to read\n", id="in"),
        pytest.param("{} parse --list - <&-", 0, "", id="an-empty-list"),
        pytest.param("{} robots check --file - http://a.test/ <&- >&2", 0, "allowed", id="robots"),
        pytest.param("{} crawl - <&-", 2, "strider crawl: no URL to begin with", id="no-urls"),
    ],
)
def test_a_closed_stream_is_an_empty_one_or_a_sentence(line: str, code: int, said: str) -> None:
    """Whoever starts commands from other programs closes what they do not want."""
    ended, complained = run(line.replace("{}", COMMAND))

    assert ended == code, complained
    assert complained.startswith(said)
    assert "Traceback" not in complained
    assert complained.count("\n") <= 3


@pytest.mark.skipif(not FULL.exists(), reason="the system has no device that is always full")
def test_a_full_disk_is_told_once() -> None:
    assert run(f"{COMMAND} topics list > {FULL}") == (
        1,
        f"{UNWRITTEN}: No space left on device\n",
    )
