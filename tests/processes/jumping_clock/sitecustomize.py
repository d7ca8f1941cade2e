"""A wall clock that jumps by an hour: forwards at SIGUSR1, backwards at SIGUSR2.

Python imports this module at the start of every process whose PYTHONPATH names this folder. Time that never
runs backwards (`time.monotonic`) is the machine's, as it is where a clock is set. Each jump writes the new
time to standard error.
"""

from __future__ import annotations

import signal
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Final

from strider.runtime.clocks import SystemClock

HOUR_SECONDS: Final = {signal.SIGUSR1: 3600.0, signal.SIGUSR2: -3600.0}

_time = time.time
_jumps = [0.0]


def _shifted_time() -> float:
    return _time() + sum(_jumps)


def _shifted_now(_clock: SystemClock) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=sum(_jumps))


def _jump(number: int, _frame: object) -> None:
    _jumps.append(HOUR_SECONDS[signal.Signals(number)])
    sys.stderr.write(f"the clock shows {SystemClock().now():%FT%T}\n")
    sys.stderr.flush()


time.time = _shifted_time
SystemClock.now = _shifted_now  # type: ignore[method-assign]
for _number in HOUR_SECONDS:
    signal.signal(_number, _jump)
