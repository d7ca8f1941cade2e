"""Random seeds of simulated webs: a few in each run, more in the slow ones."""

from __future__ import annotations

from typing import Any

import pytest


def seeds(short: int, *, of: int) -> Any:
    """Run a test with the seeds below `of`; those from `short` on are marked slow."""
    marks = [pytest.mark.slow]
    cases = [pytest.param(seed, marks=marks if seed >= short else ()) for seed in range(of)]
    return pytest.mark.parametrize("seed", cases)
