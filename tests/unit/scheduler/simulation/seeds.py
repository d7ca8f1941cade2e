"""From which seeds webs are made up: a few each time, more of them in the long form."""

from __future__ import annotations

from typing import Any

import pytest


def seeds(short: int, *, of: int) -> Any:
    """Have a test run with the seeds below `of`; those from `short` on only in the long form."""
    marks = [pytest.mark.slow]
    cases = [pytest.param(seed, marks=marks if seed >= short else ()) for seed in range(of)]
    return pytest.mark.parametrize("seed", cases)
