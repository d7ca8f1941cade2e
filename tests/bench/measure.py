"""How things are measured here: CPU time, interleaved rounds, medians with their spread, ratios in one run.

A figure alone says what machine it was measured on; a ratio of two things measured in turn says
something about the code. So every row compares with something: a bare library, or a bar of the design.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and range of the rounds, in seconds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, rounds: list[float]) -> Spread:
        """The spread of some rounds."""
        return cls(statistics.median(rounds), min(rounds), max(rounds))


def resident_mib(name: str = "VmHWM", *, of: int | None = None) -> float:
    """Memory of this process, or of another one, by default at its peak.

    The peak of `getrusage` is that of the parent process, where that was larger.
    """
    lines = Path(f"/proc/{of or 'self'}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name + ":"))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report."""

    name: str
    measured: float
    unit: str
    bar: float | None
    """What the design asks for; None for a row that only informs."""
    more_is_better: bool = False
    detail: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the bar is met."""
        if self.bar is None:
            return None
        return self.measured >= self.bar if self.more_is_better else self.measured <= self.bar


def interleaved(parts: Mapping[str, Callable[[], object]], *, rounds: int, times: int) -> dict[str, Spread]:
    """CPU seconds a call of each part, measured in turn so that a slow moment hits all of them."""
    found: dict[str, list[float]] = {name: [] for name in parts}
    for part in parts.values():
        part()
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, part in parts.items():
                begin = time.process_time()
                for _ in range(times):
                    part()
                found[name].append((time.process_time() - begin) / times)
    finally:
        gc.enable()
    return {name: Spread.of(values) for name, values in found.items()}
