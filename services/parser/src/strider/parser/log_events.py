"""Log events of the parser."""

from __future__ import annotations

from typing import Final

from strider.messaging.log_events import error, info, warning

SITE_PARSER_SKIPPED: Final = warning(
    "Site parser skipped", "An installed site parser cannot be loaded and is not used."
)
EXPENSIVE_PAGES_GIVEN_UP: Final = warning(
    "Expensive pages given up",
    "Pages of senders that take much parser time were given up as `parse_timeout`, because those of others "
    "wait; at most one line a minute, with the number of pages since the last one and the sender of one.",
)
PARSER_WORKER_DIED: Final = warning(
    "Worker died", "A worker process ended while it parsed a page; the outcome of the page says why."
)
PARSER_WORKERS_NOT_STARTED: Final = error(
    "Workers not started",
    "A worker process could not be started, and will be later. Without any the service pauses.",
)
PAGES_PARSED: Final = info("Pages parsed", "Pages of a run were parsed, by outcome.")
PAGES_GIVEN_UP: Final = warning(
    "Pages given up", "Pages of a run went to the dead letters unparsed, by reason; their entries are closed."
)
