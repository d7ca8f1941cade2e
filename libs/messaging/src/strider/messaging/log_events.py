"""Log events of this library, the type of all log events, and the logger that writes them.

Each library and service declares its events in a `log_events.py` of its own, by the functions below that are
named for levels.
Code writes an event with `logger(...).emit(EVENT, field=...)`, so that text and level are never repeated.
Knows nothing of where lines go: `strider.runtime.observability.logging` configures that for a process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

LogLevel = Literal["debug", "info", "warning", "error", "critical"]


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One event that a log line may have."""

    text: str
    """May have a field's name in braces, in whose place the line has its value."""
    level: LogLevel
    meaning: str


def debug(text: str, meaning: str) -> LogEvent:
    """Declare an event for those who look for a fault."""
    return LogEvent(text, "debug", meaning)


def info(text: str, meaning: str) -> LogEvent:
    """Declare an event of ordinary operation."""
    return LogEvent(text, "info", meaning)


def warning(text: str, meaning: str) -> LogEvent:
    """Declare an event that a person should know of."""
    return LogEvent(text, "warning", meaning)


def error(text: str, meaning: str) -> LogEvent:
    """Declare an event that a person should look into."""
    return LogEvent(text, "error", meaning)


def critical(text: str, meaning: str) -> LogEvent:
    """Declare an event that ends the process."""
    return LogEvent(text, "critical", meaning)


SCHEMAS_DECLARED: Final = LogEvent(
    "Schemas declared", "debug", "The schemas that this process writes with are on the schemas topic."
)
SCHEMA_DECLARATION_UNREADABLE: Final = LogEvent(
    "Schema declaration unreadable",
    "warning",
    "A record of the schemas topic could not be decoded; it is skipped.",
)
SCHEMA_REFUSED: Final = LogEvent(
    "Schema refused", "warning", "A declared schema is invalid; messages written with it become dead letters."
)
SHARDS_LEFT_UNREAD: Final = LogEvent(
    "Shards left unread",
    "warning",
    "A topic is not read on some shards, because the members that own them do not subscribe to it.",
)
RECORD_BATCH_LEFT_OUT: Final = LogEvent(
    "Record batch left out",
    "error",
    "A reader of a whole topic left out a batch that is too large, or that cannot be parsed.",
)
TRUNCATED_LOG_CONTINUED: Final = LogEvent(
    "Truncated log continued",
    "error",
    "A topic that is read whole ends before the offset up to which it was read; what was read there stays.",
)
COMMIT_RETRIED: Final = LogEvent("Commit retried", "info", "The broker asked to send an offset commit again.")
PRODUCER_BROKEN: Final = LogEvent(
    "Producer broken", "warning", "The broker refused a batch for good; a new client replaces this one."
)
CLIENT_CLOSE_FAILED: Final = LogEvent(
    "Client close failed",
    "info",
    "The Kafka client raised an error while it was closed; its connections are dropped.",
)
REVOCATION_FAILED: Final = LogEvent(
    "Revocation failed",
    "error",
    "Releasing revoked partitions raised an error; uncommitted messages come again.",
)
ASSIGNMENT_FAILED: Final = LogEvent(
    "Assignment failed",
    "error",
    "Taking assigned partitions raised an error; the consumer loop ends with it.",
)
SHARD_WRITER_RENEWED: Final = LogEvent(
    "Shard writer renewed", "warning", "The outcome of a commit is unknown; the writer begins a new epoch."
)
SHARD_WRITER_RENEWAL_DEFERRED: Final = LogEvent(
    "Shard writer renewal deferred",
    "info",
    "Kafka is unavailable, so the new epoch is requested again later.",
)
SHARD_WRITER_RENEWAL_FAILED: Final = LogEvent(
    "Shard writer renewal failed", "error", "The new epoch could not be requested for an unforeseen reason."
)
SHARD_WRITER_CLOSED_UNFLUSHED: Final = LogEvent(
    "Shard writer closed unflushed", "info", "The open transaction batch was not committed."
)


class EventLogger:
    """Writes declared events in the name of one component; picks up the configuration at each line."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._log: Any = None

    def emit(self, event: LogEvent, /, **fields: Any) -> None:
        """Write one line at the level that the event declares."""
        text = event.text.format_map(fields) if "{" in event.text else event.text
        getattr(self._structlog(), event.level)(text, **fields)

    def _structlog(self) -> Any:
        if self._log is None:
            # Imported here, so that a process that configures its logs has imported it without optional
            # extras.
            import structlog  # noqa: PLC0415

            self._log = structlog.get_logger(self._name)
        return self._log


def logger(name: str) -> EventLogger:
    """Return a logger that names the component which writes."""
    return EventLogger(name)
