"""When does a process that ended by itself run again, and when is it said to fail?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FIRST_SECONDS: Final = 0.5
LONGEST_SECONDS: Final = 30.0
STEADY_SECONDS: Final = 30.0
"""Who ran that long is forgiven its earlier ends."""
FAILING_AFTER: Final = 4
"""So many ends in a row without a steady time between them are called failing."""


@dataclass(frozen=True, slots=True)
class Falls:
    """How often a process ended by itself, in a row."""

    in_a_row: int = 0

    @property
    def is_failing(self) -> bool:
        """Whether it is worth a person's look."""
        return self.in_a_row >= FAILING_AFTER

    @property
    def pause_seconds(self) -> float:
        """How long to wait before the next start."""
        return min(FIRST_SECONDS * 2.0 ** max(self.in_a_row - 1, 0), LONGEST_SECONDS)

    def after(self, ran_seconds: float) -> Falls:
        """Count one more end, of a process that had run so long."""
        return Falls(1 if ran_seconds >= STEADY_SECONDS else self.in_a_row + 1)
