"""Log events of the indexer."""

from __future__ import annotations

from typing import Final

from strider.messaging.log_events import info, warning

OLD_DATA_DELETED: Final = info("Old data deleted", "Rows or objects older than the settings keep them.")
OLD_DATA_KEPT: Final = warning("Old data kept", "A server is unavailable; old data is deleted later.")
PAGES_STORED: Final = info(
    "Pages stored", "Pages of a run are in PostgreSQL: stored, unchanged, or removed for noindex."
)
