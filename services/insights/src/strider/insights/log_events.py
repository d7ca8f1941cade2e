"""Log events of insights."""

from __future__ import annotations

from typing import Final

from strider.messaging.log_events import debug, error, info, warning

FAUST_APPLICATION_STARTED: Final = info(
    "Faust application started", "Faust has joined its group and begins to read."
)
INSIGHTS_EVENT_UNREADABLE: Final = warning(
    "Event unreadable", "An event cannot be decoded; it is counted as unreadable and skipped."
)
UNCOUNTED_MESSAGES_LOST: Final = error(
    "Uncounted messages lost",
    "Retention deleted messages before they were counted; the group continues behind them.",
)
SKIPPED_MESSAGES_READ_AGAIN: Final = info(
    "Skipped messages read again",
    "Faust skipped messages of a partition; reading continues from the first of them.",
)
READING_AGAIN_FAILED: Final = debug(
    "Reading again failed", "Skipped messages could not be read again; the next check tries again."
)
INSIGHTS_LAG_UNKNOWN: Final = debug(
    "Lag unknown", "Faust did not report its lag; the next check tries again."
)
FAUST_NOT_STOPPED: Final = error(
    "Faust not stopped", "Faust did not stop in time; the process exits without it."
)
