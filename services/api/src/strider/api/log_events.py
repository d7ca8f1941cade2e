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
LIVE_LOG_PAUSED: Final = warning(
    "Live log paused",
    "Redis or the object store did not respond; those who follow a log get its lines later.",
)
API_REQUEST_HANDLED: Final = info(
    "API request handled", "A request that changes something, or that was refused; `by` is its subject."
)
API_REQUEST_FAILED: Final = error(
    "API request failed", "A route raised; the client received 500 without details."
)
SOURCE_EVENTS_WAIT: Final = warning(
    "Source events wait",
    "Events about sources cannot be read or handled now; they are read again when the dependency responds.",
)
SOURCE_EVENT_INVALID: Final = warning(
    "Source event invalid",
    "An event about a source cannot be applied, for the reason that it names; it was skipped.",
)
RESPONSE_NOT_KEPT: Final = warning(
    "Response not kept",
    "Redis did not respond after a request with an Idempotency-Key: the same request is refused for a "
    "minute, and then carried out again.",
)
FIGURES_INCOMPLETE: Final = warning(
    "Figures incomplete", "A part of the public statistics did not respond; its figures are null meanwhile."
)
RUN_CANCELLATION_DELAYED: Final = warning(
    "Run cancellation delayed",
    "A job was cancelled, and the broker did not take the command about its run; a scheduler publishes it.",
)
FEED_COMMAND_LOST: Final = warning(
    "Feed command lost",
    "A job was paused, resumed, cancelled or deleted, and the broker did not take the command about the "
    "polling of its feeds: send it by `strider runs`.",
)
