"""Log events of this library, and those that several members write.

A text is a subject and a past participle; details stand in the fields of the line. Code writes an event with
`logger(...).emit(EVENT, field=...)`, so text and level are never repeated. Each library and service declares
its own events in a `log_events.py` beside its code; docs/operations/log-events.md is generated from all.
"""

from __future__ import annotations

from typing import Final

from strider.messaging.log_events import LogEvent, critical, error, info, warning

__all__ = ["LogEvent"]

# --- written by several members ---
OWNER_KEY_MISSING: Final = warning(
    "Owner key missing",
    "STRIDER_OWNER_KEY is not set, so no seed is an owner's: link-ingestion refuses signed seeds, and all "
    "others have the names and limits of raw seeds; the API publishes raw seeds.",
)

# --- written by this library ---
SIGNAL_RECEIVED: Final = info("Signal received", "A signal asked the process to stop.")
FURTHER_FAILURE_RECORDED: Final = error(
    "Further failure recorded", "Another task of a consumer loop failed besides the one that ended it."
)
PARTITIONS_MOVED: Final = info(
    "Partitions moved", "The group rebalanced during a call; the next poll uses the new assignment."
)
PARTITIONS_ASSIGNED: Final = info("Partitions assigned", "The group assigned partitions to this member.")
PARTITIONS_REVOKED: Final = info(
    "Partitions revoked", "Partitions were given back to the group, with their work finished and committed."
)
MESSAGES_ABANDONED: Final = warning(
    "Messages abandoned",
    "Work on revoked partitions did not finish in time; its messages come again elsewhere.",
)
SHARDS_NOT_CLOSED: Final = warning(
    "Shards not closed", "The service could not close its shards; the next owner fences them."
)
CONSUMPTION_PAUSED: Final = warning(
    "Consumption paused", "A consumer loop waits for the reason in the line; the process is not ready."
)
CONSUMPTION_PAUSED_ROUTINELY: Final = info(
    "Consumption paused routinely",
    "A consumer loop waits for something ordinary, such as its group handing out partitions.",
)
CONSUMPTION_RESUMED: Final = info("Consumption resumed", "The reason in the line for a pause is over.")
PAUSE_EXEMPTION_REVOKED: Final = warning(
    "Pause exemption revoked",
    "The probe of a dependency hangs, so its pause no longer keeps the watchdog from acting.",
)
PLACES_FULL: Final = warning(
    "Places full",
    "Messages have waited for ten seconds or more, because the places of their senders are taken.",
)
PLACES_FREE: Final = info("Places free", "No message waits for long for a place any more.")
COMMIT_REFUSED: Final = info(
    "Commit refused", "The partitions have another owner by now; the messages are handled again there."
)
MESSAGES_LOST: Final = error(
    "Messages lost", "Retention deleted messages before they were read; the line has the range of offsets."
)
LOG_TRUNCATED: Final = error(
    "Log truncated", "A partition ends before the offset up to which it was read; the line names the range."
)
RECORD_BATCH_SKIPPED: Final = error(
    "Record batch skipped", "A batch is too large or cannot be parsed, and is skipped unread."
)
MESSAGE_DEAD_LETTERED: Final = error(
    "Message dead-lettered",
    "A message, or so many of one batch for one reason, cannot be handled; the loop continues.",
)
GIVEN_UP_CALLBACK_FAILED: Final = error(
    "Given-up callback failed",
    "The service's on_given_up raised an error; the dead letter is written without it.",
)
GIVEN_UP_EFFECTS_FAILED: Final = error(
    "Given-up effects failed",
    "The result of on_given_up cannot be published; the dead letter is written without it.",
)
SERVICE_STARTING: Final = info("Service starting", "The process has read its settings and starts.")
STARTUP_PHASE_COMPLETED: Final = info(
    "Startup phase completed", "One phase of the startup is done; the line has its duration."
)
DEPENDENCY_AWAITED: Final = warning(
    "Dependency awaited", "The startup waits for a dependency that is unavailable, and tries again."
)
HEALTH_SERVER_STARTED: Final = info(
    "Health server started", "/livez, /readyz and /metrics are served at the address in the line."
)
SERVICE_RUNNING: Final = info("Service running", "The startup is complete and the service consumes.")
STARTUP_REFUSED: Final = critical(
    "Startup refused", "A fact that only a person can change prevents the start (exit code 4)."
)
STARTUP_FAILED: Final = critical("Startup failed", "The startup ended with an error (exit code 1).")
SERVICE_STOPPING: Final = info("Service stopping", "The process finishes its work in flight and stops.")
SHUTDOWN_TIMED_OUT: Final = warning(
    "Shutdown timed out",
    "Work in flight did not finish within STRIDER_GRACE; its messages will be redelivered.",
)
SERVICE_STOPPED: Final = info("Service stopped", "The process ends with the exit code in the line.")
SECOND_SIGNAL_RECEIVED: Final = warning(
    "Second signal received", "A second signal came during the shutdown; the process ends at once."
)
TASK_DIED: Final = critical(
    "Task died", "A task that must run as long as the process has ended; the process stops."
)
TASK_NOT_CANCELLED: Final = error(
    "Task not cancelled", "A task did not end after it was cancelled; the process ends without it."
)
CLOSE_TIMED_OUT: Final = warning(
    "Close timed out", "A connection or server did not close in time and is left to the system."
)
CLOSE_FAILED: Final = error(
    "Close failed", "Closing a connection or server raised an error; the others are closed all the same."
)
DEPENDENCY_LOST: Final = warning("Dependency lost", "A dependency does not answer its probe any more.")
DEPENDENCY_AWAY_TOO_LONG: Final = critical(
    "Dependency away too long",
    "A dependency did not respond for STRIDER_EXIT_AFTER_SECONDS; the process stops (exit code 5).",
)
DEPENDENCY_RECOVERED: Final = info("Dependency recovered", "A dependency answers its probe again.")
WATCHDOG_CHECK_FAILED: Final = error(
    "Watchdog check failed", "One check of the watchdog raised an error; it continues with the next one."
)
STALL_DETECTED: Final = error(
    "Stall detected", "Messages wait, nothing moved for STALL_THRESHOLD and no pause explains it."
)
STALL_DIAGNOSED: Final = error(
    "Stall diagnosed", "State of dependencies, tasks and threads when the stall was detected."
)
STALLED_CONNECTIONS_REOPENED: Final = warning(
    "Stalled connections reopened",
    "The watchdog reopened connections; the line has the result for each dependency.",
)
STALL_RESOLVED: Final = info("Stall resolved", "The process moves again, or states why it does not.")
STALLED_PROCESS_ENDED: Final = critical(
    "Stalled process ended", "Reconnecting did not help; the process exits with code 3."
)
MEMORY_LIMIT_EXCEEDED: Final = critical(
    "Memory limit exceeded",
    "Resident memory stayed above STRIDER_MEMORY_LIMIT_MB; the process exits with code 1.",
)
TRACES_LOST: Final = warning(
    "Traces lost", "The collector does not take spans; they are dropped until it does."
)
TRACE_EXPORT_RECOVERED: Final = info("Trace export recovered", "The collector takes spans again.")
