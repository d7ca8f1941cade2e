"""Compare implementations of one task: exact cases, time for each, the worst hostile input.

Each hostile input is read in a process of its own, which is ended at a limit of time and memory, so that a
crash or an endless loop is a result and not the end of the run.
"""

from __future__ import annotations

import gc
import importlib.metadata
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.bench.measure import resident_mib

OWN: Final = "strider"
PAGE_SECONDS: Final = 2.0
"""The time that a page may take in the parser."""
HOSTILE_SECONDS: Final = 10.0
HOSTILE_BYTES: Final = 4 << 30
"""Address space of a process that reads hostile input."""
CPU_SECONDS_A_CASE: Final = 0.01

Read = Callable[[Any], Any]


class Case(NamedTuple):
    """An input, and whether a result is the expected one."""

    given: Any
    is_right: Callable[[Any], bool]


class Candidate(NamedTuple):
    """One implementation."""

    name: str
    distribution: str
    """The package that must be installed; empty for the standard library and for own code."""
    load: Callable[[], Read]
    """Imports the package and returns its function."""


class Task(NamedTuple):
    """A task, its implementations, and the inputs to compare them by."""

    title: str
    candidates: Sequence[Candidate]
    cases: Sequence[Case]
    hostile: Mapping[str, Any]


class HostileCost(NamedTuple):
    """What the reading of one hostile input took."""

    name: str
    seconds: float
    memory_mib: float
    outcome: str

    def __str__(self) -> str:
        limit = "> " if self.seconds >= HOSTILE_SECONDS else ""
        return f"{limit}{self.seconds:.2f} s, {self.memory_mib:.0f} MiB ({self.name}{self.outcome})"


def parameters(test: Any) -> list[tuple[Any, ...]]:
    """Return the parameter sets of a parametrized test, so that its cases stand in one place."""
    (mark,) = (mark for mark in test.pytestmark if mark.name == "parametrize")
    return [
        tuple(each.values)
        if isinstance(each, type(pytest.param()))
        else each
        if isinstance(each, tuple)
        else (each,)
        for each in mark.args[1]
    ]


def compare(task: Task) -> str:
    """Measure all candidates that are installed; return a table in Markdown."""
    rows = [
        f"## {task.title}",
        "",
        f"| | exact | µs, median | worst hostile input | others over {PAGE_SECONDS:.0f} s |",
        "|---|---|---|---|---|",
    ]
    for candidate in task.candidates:
        version = _installed_version(candidate.distribution)
        if version is None:
            rows.append(f"| {candidate.name} | skipped: {candidate.distribution} is not installed | | | |")
            continue
        read = _without_errors(candidate.load())
        right = sum(_is_right(case, read) for case in task.cases)
        costs = [hostile_cost(name, read, given) for name, given in task.hostile.items()]
        worst = max(costs, key=lambda cost: cost.seconds)
        others = [cost.name for cost in costs if cost.seconds > PAGE_SECONDS and cost is not worst]
        rows.append(
            f"| {' '.join(filter(None, (candidate.name, version)))} | {right} of {len(task.cases)}"
            f" | {_microseconds(read, task.cases):.1f} | {worst} | {', '.join(others)} |"
        )
    return "\n".join(rows) + "\n"


def _installed_version(distribution: str) -> str | None:
    if not distribution:
        return ""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _without_errors(read: Read) -> Read:
    """Return None for input that an implementation refuses, whatever its error is."""

    def reading(given: Any) -> Any:
        try:
            return read(given)
        except Exception:  # noqa: BLE001  # libraries raise errors of any kind
            return None

    return reading


def _is_right(case: Case, read: Read) -> bool:
    found = read(case.given)
    try:
        return bool(case.is_right(found))
    except (AttributeError, KeyError, LookupError, TypeError, ValueError):
        return False  # a result of another shape


def _microseconds(read: Read, cases: Sequence[Case]) -> float:
    """Return the median over the cases: some of them are hostile, and a mean would be theirs."""
    gc.collect()
    return statistics.median(_microseconds_of(read, case.given) for case in cases)


def _microseconds_of(read: Read, given: Any) -> float:
    began, times = time.process_time(), 0
    while (took := time.process_time() - began) < CPU_SECONDS_A_CASE or not times:
        read(given)
        times += 1
    return took / times * 1e6


def hostile_cost(name: str, read: Read, given: Any) -> HostileCost:
    """Read one input in a process of its own."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_read_limited, args=(read, given, sending), daemon=True)
    process.start()
    sending.close()
    try:
        if not receiving.poll(HOSTILE_SECONDS):
            return HostileCost(name, HOSTILE_SECONDS, resident_mib(of=process.pid), ", ended at the limit")
        return HostileCost(name, *receiving.recv(), "")
    except EOFError:
        return HostileCost(name, HOSTILE_SECONDS, 0.0, ", process died")
    finally:
        process.kill()
        process.join()
        receiving.close()


def _read_limited(read: Read, given: Any, sending: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (HOSTILE_BYTES, HOSTILE_BYTES))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    before, began = resident_mib("VmRSS"), time.process_time()
    read(given)
    sending.send((time.process_time() - began, max(0.0, resident_mib() - before)))
