"""Log events of link-ingestion."""

from __future__ import annotations

from typing import Final

from strider.messaging.log_events import info, warning

LINKS_FOUND: Final = info(
    "Links found", "Links of pages of a run: new ones, ones known already, and ones refused by its rules."
)
RAW_SEEDS_NOT_COUNTED: Final = warning(
    "Raw seeds not counted",
    "The scheduler's lag for links cannot be read; raw seeds are read only as far as the last one allows.",
)
RUN_CLOSED: Final = info(
    "Run closed", "A sender has closed its run: no more seeds of it come, and it ends when nothing is open."
)
SEEDS_ACCEPTED: Final = info(
    "Seeds accepted",
    "Seeds of a run became links at depth 0; in the run log, one line for all seeds of up to 5 s.",
)
SEEDS_REFUSED: Final = info(
    "Seeds refused",
    "Seeds of a run were refused; in the run log, one line for all seeds of up to 5 s and each reason.",
)
TRAP_SUSPECTED: Final = warning(
    "Trap suspected",
    "The last pages of a URL template brought little new text; new links to it are refused in this run.",
)
