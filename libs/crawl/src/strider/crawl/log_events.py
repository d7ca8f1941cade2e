"""Log events of this library."""

from __future__ import annotations

from typing import Final

from strider.messaging.log_events import error, warning

CRAWL_SPEC_UNREADABLE: Final = error(
    "Crawl spec unreadable", "A declared crawl spec cannot be decoded; it counts as absent."
)
JOB_EVENT_UNREADABLE: Final = error(
    "Job event unreadable", "A record of job-events or job-commands cannot be decoded and is skipped."
)
RUN_EVENTS_DROPPED: Final = warning(
    "Run events dropped", "More runs had events than the run log holds; the line has the number left out."
)
