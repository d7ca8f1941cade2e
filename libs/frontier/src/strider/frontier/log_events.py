"""Log events of this library."""

from __future__ import annotations

from typing import Final

from strider.messaging.log_events import info, warning

FRONTIER_CLOCK_CORRECTED: Final = warning(
    "Frontier clock corrected",
    "The clock of Redis jumped; a shard's time continues from its owner's estimate.",
)
FUNCTION_LIBRARIES_DELETED: Final = info(
    "Function libraries deleted",
    "Function libraries of older versions, unused for a week, were deleted from Redis.",
)
FUNCTION_LIBRARY_CLEANUP_POSTPONED: Final = info(
    "Function library cleanup postponed",
    "Redis was out of reach or refused a command; the cleanup runs again in an hour.",
)
