"""Log events of the API."""

from __future__ import annotations

from typing import Final

from strider.messaging.log_events import error, info, warning

API_LISTENING: Final = info("API listening", "The HTTP API accepts connections; the field is its address.")
API_DEPENDENCY_UNAVAILABLE: Final = warning(
    "API dependency unavailable", "A request was refused with 503, because a dependency did not respond."
)
RUN_STATES_PAUSED: Final = warning(
    "Run states paused", "Topic job-events or job-commands cannot be read; states of runs are as they were."
)
API_REQUEST_FAILED: Final = error(
    "API request failed", "A route raised; the client received 500 without details."
)
