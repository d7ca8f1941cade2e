"""Log events of the validator."""

from __future__ import annotations

from typing import Final

from strider.messaging.log_events import info

PAGE_REJECTED: Final = info("Page rejected", "A parsed page is not content; the fields say why.")
