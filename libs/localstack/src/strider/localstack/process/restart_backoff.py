"""When does a process that ended by itself run again, and when is it said to fail?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FIRST_PAUSE_SECONDS: Final = 0.5
MAX_PAUSE_SECONDS: Final = 30.0
STABLE_SECONDS: Final = 30.0
"""Who ran that long is forgiven its earlier ends."""
FAILING_AFTER: Final = 4
"""So many ends in a row without a steady time between them are called failing."""


@dataclass(frozen=True, slots=True)
class RestartBackoff:
    """How often a process ended by itself, in a row."""

    failures: int = 0

    @property
    def is_failing(self) -> bool:
        """Whether it is worth a person's look."""
        return self.failures >= FAILING_AFTER

    @property
    def pause_seconds(self) -> float:
        """How long to wait before the next start."""
        return min(FIRST_PAUSE_SECONDS * 2.0 ** max(self.failures - 1, 0), MAX_PAUSE_SECONDS)

    def after_exit(self, ran_seconds: float) -> RestartBackoff:
        """Count one more end, of a process that had run so long."""
        return RestartBackoff(1 if ran_seconds >= STABLE_SECONDS else self.failures + 1)
