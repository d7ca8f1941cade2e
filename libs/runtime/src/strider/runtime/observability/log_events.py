"""Every log event: its text, its level and what it means, declared once.

A text is a subject and a past participle in plain words; what it is about stands in the fields of its line.
Code writes an event with `logger(...).emit(EVENT, field=...)`, so text and level are never spelt twice, and
docs/operations/log-events.md is generated from this file. One section for each library and service, by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["LogEvent", "declared_events"]

Level = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One event that a log line may bear."""

    text: str
    level: Level
    meaning: str


def _debug(text: str, meaning: str) -> LogEvent:
    return LogEvent(text, "debug", meaning)


def _info(text: str, meaning: str) -> LogEvent:
    return LogEvent(text, "info", meaning)


def _warning(text: str, meaning: str) -> LogEvent:
    return LogEvent(text, "warning", meaning)


def _error(text: str, meaning: str) -> LogEvent:
    return LogEvent(text, "error", meaning)


def declared_events() -> dict[str, LogEvent]:
    """Return every declared event by the name of its constant."""
    return {name: value for name, value in globals().items() if isinstance(value, LogEvent)}


# --- api ---

API_LISTENING: Final = _info("API listening", "The HTTP API accepts connections; the field is its address.")
API_DEPENDENCY_UNAVAILABLE: Final = _warning(
    "API dependency unavailable", "A request was refused with 503, because a dependency did not respond."
)
API_REQUEST_FAILED: Final = _error(
    "API request failed", "A route raised; the client received 500 without details."
)


# --- cli ---


# --- examples ---


# --- fetcher ---


# --- frontier and storage ---

FRONTIER_CLOCK_CORRECTED: Final = _warning(
    "Frontier clock corrected", "The clock of Redis jumped; a shard's time goes on from its owner's estimate."
)
FUNCTION_LIBRARIES_DELETED: Final = _info(
    "Function libraries deleted",
    "Function libraries of older versions, unused for a week, were deleted from Redis.",
)
FUNCTION_LIBRARY_CLEANUP_POSTPONED: Final = _info(
    "Function library cleanup postponed",
    "Redis was out of reach or refused a command; the cleanup runs again in an hour.",
)


# --- indexer ---


# --- insights ---


# --- link-ingestion ---

SEEDS_ACCEPTED: Final = _info("Seeds accepted", "Seeds of a run became links at depth 0; run log, summed up.")
SEEDS_REFUSED: Final = _info("Seeds refused", "Seeds of a run were refused, by reason; run log, summed up.")


# --- localstack ---


# --- messaging ---


# --- parser ---


# --- runtime ---

SIGNAL_RECEIVED: Final = _info("Signal received", "A signal asked the process to stop.")


# --- scheduler ---

JOB_COMMAND_RECEIVED: Final = _info(
    "Job command received", "A person's command about a run or a host was read from job-events."
)


# --- validator ---
