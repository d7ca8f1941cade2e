"""Log events of this library."""

from __future__ import annotations

from typing import Final

from strider.messaging.log_events import info, warning

SOURCES_NOT_PUBLISHED_YET: Final = warning(
    "Sources not published yet",
    "PostgreSQL or Kafka is unavailable or not up to date; what was saved is published when both respond.",
)
SOURCES_REPUBLISHED: Final = info(
    "Sources republished",
    "Sources that the topic lacked are published again; those that the table lacked are in it now.",
)
