"""What work costs, in units of work that is measured beside it: a slow or busy machine changes both."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

ATTEMPTS = 3
"""Neighbours on the machine only ever add to a cost, so that the smallest is the right one."""
_TEXT = "".join(f"<a href=/{number}>{number}</a>" for number in range(2_000))


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the processor time of this process that the work takes, once."""
    began = time.process_time()
    work()
    return time.process_time() - began


def yardstick_seconds() -> float:
    """Return what a yardstick costs here and now: between 5 and 10 ms where nothing else runs."""
    return min(cpu_seconds(_use_yardstick) for _ in range(ATTEMPTS))


def assert_cheap(work: Callable[[], T], *, yardsticks: float) -> T:
    """Do the work and return its result; fail where it takes more processor time than so many yardsticks.

    Work that is more expensive is tried again, so that no result of it may be cached.
    """
    costs: list[float] = []
    results: list[T] = []
    for _ in range(ATTEMPTS):
        yardstick = yardstick_seconds()
        costs.append(cpu_seconds(lambda: results.append(work())) / yardstick)
        if costs[-1] <= yardsticks:
            return results[-1]
    raise AssertionError(f"{min(costs):.1f} yardsticks of processor time, more than {yardsticks:g}")


def _use_yardstick() -> int:
    """Do the work of parsers: search, cut and collect."""
    found: dict[str, list[str]] = {}
    for _ in range(5):
        for match in re.finditer(r"<a href=/(\d+)>([^<]*)</a>", _TEXT):
            found.setdefault(match[1][:2], []).append(match[2].upper())
    return len(found)
