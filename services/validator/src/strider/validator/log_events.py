"""Log events of the validator."""

from __future__ import annotations

from typing import Final

from strider.messaging.log_events import info

PAGE_REJECTED: Final = info("Page rejected", "A parsed page is not content; the fields say why.")
PAGES_FOUND_VALID: Final = info("Pages found valid", "Parsed pages of a run are content, by status.")
PAGES_FOUND_INVALID: Final = info("Pages found invalid", "Parsed pages of a run are no content, by reason.")
