"""Shared by these tests: the real command as a process, a generated site, and checks of the result."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from strider.testing.site import SitePlan

COMMAND: Final = (sys.executable, "-m", "strider.cli", "crawl")
LONGEST_SECONDS: Final = 150.0


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str


def start(*arguments: str, **more: Any) -> subprocess.Popen[str]:
    """Start the command."""
    return subprocess.Popen(  # our own interpreter and our own command
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def end_of(process: subprocess.Popen[str]) -> Ended:
    """Wait for the end of a command."""
    try:
        out, err = process.communicate(timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"still running after {LONGEST_SECONDS} s; it said: {err[-2000:]}") from None
    return Ended(process.returncode, out, err)


def run(*arguments: str, **more: Any) -> Ended:
    """Run the command to its end."""
    return end_of(start(*arguments, **more))


def wait_until(condition: Callable[[], bool], what: str, *, process: subprocess.Popen[str]) -> None:
    """Wait for a condition while the command runs."""
    until = time.monotonic() + LONGEST_SECONDS
    while not condition():
        if process.poll() is not None:
            return
        assert time.monotonic() < until, what
        time.sleep(0.01)


def interrupt_when(process: subprocess.Popen[str], condition: Callable[[], bool], number: int) -> Ended:
    """Send a signal once a condition holds."""
    wait_until(condition, "nothing came of it", process=process)
    process.send_signal(number)
    return end_of(process)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Read an output; every line must be whole."""
    content = path.read_text(encoding="utf-8")
    assert content == "" or content.endswith("\n")
    return [json.loads(line) for line in content.splitlines()]


def by_outcome(lines: Sequence[dict[str, Any]], outcome: str) -> set[str]:
    """Return the URLs with an outcome."""
    return {line["url"] for line in lines if line["outcome"] == outcome}


QUICK: Final = ("--exclude", "/broken")
"""Leaves out the page whose retries take ten seconds."""


def check_lines(lines: Sequence[dict[str, Any]], plan: SitePlan, *, is_quick: bool = False) -> None:
    """Compare an output with the plan of the site: every URL once, with its outcome."""
    doubled = [url for url, count in Counter(line["url"] for line in lines).items() if count > 1]
    assert doubled == []
    unexplained = [line["url"] for line in lines if line["reason"] == "robots_denied" and not line["detail"]]
    assert unexplained == [], "a denial names its rule"
    pages, denied = (
        by_outcome(lines, "page"),
        {line["url"] for line in lines if line["reason"] == "robots_denied"},
    )
    ended = by_outcome(lines, "redirected") | by_outcome(lines, "failed")
    failures = {url for url in plan.failures if not (is_quick and url.endswith("/broken"))}
    expected = {"page": plan.pages, "ended": {*plan.redirects, *failures}, "denied": plan.forbidden}
    found = {"page": pages, "ended": ended, "denied": denied}
    missing = {name: sorted(urls - found[name]) for name, urls in expected.items()}
    beyond = {name: sorted(urls - expected[name]) for name, urls in found.items()}
    assert not any((*missing.values(), *beyond.values())), f"missing {missing}, beyond {beyond}"


INTERRUPT: Final = signal.SIGINT
KILL: Final = signal.SIGKILL
