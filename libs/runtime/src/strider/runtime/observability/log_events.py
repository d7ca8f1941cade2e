"""Every log event: its text, its level and its meaning, declared once.

A text is a subject and a past participle; details stand in the fields of the line. Code writes an event with
`logger(...).emit(EVENT, field=...)`, so text and level are never repeated, and docs/operations/log-events.md
is generated from this file. One section for each library and service, by name; those of `strider.messaging`,
which may not import this library, are declared there.
"""

from __future__ import annotations

from typing import Final

from strider.messaging import log_events as messaging
from strider.messaging.log_events import LogEvent

__all__ = ["LogEvent", "declared_events"]


def _debug(text: str, meaning: str) -> LogEvent:
    return LogEvent(text, "debug", meaning)


def _info(text: str, meaning: str) -> LogEvent:
    return LogEvent(text, "info", meaning)


def _warning(text: str, meaning: str) -> LogEvent:
    return LogEvent(text, "warning", meaning)


def _error(text: str, meaning: str) -> LogEvent:
    return LogEvent(text, "error", meaning)


def _critical(text: str, meaning: str) -> LogEvent:
    return LogEvent(text, "critical", meaning)


def declared_events() -> dict[str, LogEvent]:
    """Return every declared event by the name of its constant."""
    own = {name: value for name, value in globals().items() if isinstance(value, LogEvent)}
    return messaging.declared_events() | own


# --- api ---
API_LISTENING: Final = _info("API listening", "The HTTP API accepts connections; the field is its address.")
API_DEPENDENCY_UNAVAILABLE: Final = _warning(
    "API dependency unavailable", "A request was refused with 503, because a dependency did not respond."
)
API_REQUEST_FAILED: Final = _error(
    "API request failed", "A route raised; the client received 500 without details."
)

# --- crawl ---
CRAWL_SPEC_UNREADABLE: Final = _error(
    "Crawl spec unreadable", "A declared crawl spec cannot be decoded; it counts as absent."
)
RUN_EVENTS_DROPPED: Final = _warning(
    "Run events dropped", "More runs had events than the run log holds; the line has the number left out."
)

# --- fetcher ---
CONTACT_NOT_CONFIGURED: Final = _warning(
    "Contact not configured", "STRIDER_CONTACT is not set, so only loopback addresses are fetched."
)
PROXY_DISABLED: Final = _warning(
    "Proxy disabled", "A proxy failed too often in a row and is not used until a check succeeds."
)
PROXY_CHECK_FAILED: Final = _info(
    "Proxy check failed", "A disabled proxy was checked and could not be reached; it is checked again later."
)
PROXY_RECOVERED: Final = _info(
    "Proxy recovered", "A disabled proxy was reached by a check and is used again."
)
PROXY_TABLE_NOT_UPDATED: Final = _warning(
    "Proxy table not updated", "PostgreSQL was unavailable; what became of the proxies is written later."
)
PROXY_PASSWORD_NOT_DECRYPTED: Final = _error(
    "Proxy password not decrypted", "No key of CRAWLER_PROXY_KEY opens a proxy's password; it is not used."
)
COOKIES_NOT_STORED: Final = _warning(
    "Cookies not stored", "Redis was unavailable; the cookies that a response set are lost, its page is not."
)
NETWORK_LOST: Final = _warning(
    "Network lost", "None of the endpoints in FETCHER_NETWORK_CHECKS could be reached; fetching is paused."
)
NETWORK_STILL_LOST: Final = _warning(
    "Network still lost", "The network has not come back; repeated every 30 s while fetching is paused."
)
NETWORK_RECOVERED: Final = _info("Network recovered", "An endpoint was reached again and fetching continues.")

# --- frontier and storage ---
FRONTIER_CLOCK_CORRECTED: Final = _warning(
    "Frontier clock corrected",
    "The clock of Redis jumped; a shard's time continues from its owner's estimate.",
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

OLD_DATA_DELETED: Final = _info("Old data deleted", "Rows or objects older than the settings keep them.")
OLD_DATA_KEPT: Final = _warning("Old data kept", "A server is unavailable; old data is deleted later.")

# --- insights ---
FAUST_APPLICATION_STARTED: Final = _info(
    "Faust application started", "Faust has joined its group and begins to read."
)
INSIGHTS_EVENT_UNREADABLE: Final = _warning(
    "Event unreadable", "An event cannot be decoded; it is counted as unreadable and skipped."
)
UNCOUNTED_MESSAGES_LOST: Final = _error(
    "Uncounted messages lost",
    "Retention deleted messages before they were counted; the group continues behind them.",
)
SKIPPED_MESSAGES_READ_AGAIN: Final = _info(
    "Skipped messages read again",
    "Faust skipped messages of a partition; reading continues from the first of them.",
)
READING_AGAIN_FAILED: Final = _debug(
    "Reading again failed", "Skipped messages could not be read again; the next check tries again."
)
INSIGHTS_LAG_UNKNOWN: Final = _debug(
    "Lag unknown", "Faust did not report its lag; the next check tries again."
)
FAUST_NOT_STOPPED: Final = _error(
    "Faust not stopped", "Faust did not stop in time; the process exits without it."
)

# --- link-ingestion ---
OWNER_KEY_MISSING: Final = _warning(
    "Owner key missing",
    "STRIDER_OWNER_KEY is not set, so no seed is an owner's: link-ingestion refuses signed seeds, and all "
    "others have the names and limits of raw seeds; the API publishes raw seeds.",
)
SEEDS_ACCEPTED: Final = _info(
    "Seeds accepted",
    "Seeds of a run became links at depth 0; in the run log, one line for all seeds of up to 5 s.",
)
SEEDS_REFUSED: Final = _info(
    "Seeds refused",
    "Seeds of a run were refused; in the run log, one line for all seeds of up to 5 s and each reason.",
)


TRAP_SUSPECTED: Final = _warning(
    "Trap suspected",
    "The last pages of a URL template brought little new text; new links to it are refused in this run.",
)

# --- parser ---
SITE_PARSER_SKIPPED: Final = _warning(
    "Site parser skipped", "An installed site parser cannot be loaded and is not used."
)
PARSER_WORKER_DIED: Final = _warning(
    "Worker died", "A worker process ended while it parsed a page; the outcome of the page says why."
)
PARSER_WORKERS_NOT_STARTED: Final = _error(
    "Workers not started", "No worker process could be started; the service pauses and tries again."
)

# --- runtime ---
SIGNAL_RECEIVED: Final = _info("Signal received", "A signal asked the process to stop.")
FURTHER_FAILURE_RECORDED: Final = _error(
    "Further failure recorded", "Another task of a consumer loop failed besides the one that ended it."
)
PARTITIONS_MOVED: Final = _info(
    "Partitions moved", "The group rebalanced during a call; the next poll uses the new assignment."
)
PARTITIONS_ASSIGNED: Final = _info("Partitions assigned", "The group assigned partitions to this member.")
PARTITIONS_REVOKED: Final = _info(
    "Partitions revoked", "Partitions were given back to the group, with their work finished and committed."
)
MESSAGES_ABANDONED: Final = _warning(
    "Messages abandoned",
    "Work on revoked partitions did not finish in time; its messages come again elsewhere.",
)
SHARDS_NOT_CLOSED: Final = _warning(
    "Shards not closed", "The service could not close its shards; the next owner fences them."
)
CONSUMPTION_PAUSED: Final = _warning(
    "Consumption paused", "A consumer loop waits for the reason in the line; the process is not ready."
)
CONSUMPTION_PAUSED_ROUTINELY: Final = _info(
    "Consumption paused routinely",
    "A consumer loop waits for something ordinary, such as its group handing out partitions.",
)
CONSUMPTION_RESUMED: Final = _info("Consumption resumed", "The reason in the line for a pause is over.")
PAUSE_EXEMPTION_REVOKED: Final = _warning(
    "Pause exemption revoked",
    "The probe of a dependency hangs, so its pause no longer keeps the watchdog from acting.",
)
COMMIT_REFUSED: Final = _info(
    "Commit refused", "The partitions have another owner by now; the messages are handled again there."
)
MESSAGES_LOST: Final = _error(
    "Messages lost", "Retention deleted messages before they were read; the line has the range of offsets."
)
LOG_TRUNCATED: Final = _error(
    "Log truncated", "A partition ends before the offset up to which it was read; the line names the range."
)
RECORD_BATCH_SKIPPED: Final = _error(
    "Record batch skipped", "A batch is too large or cannot be parsed, and is skipped unread."
)
MESSAGE_DEAD_LETTERED: Final = _error(
    "Message dead-lettered",
    "A message, or so many of one batch for one reason, cannot be handled; the loop continues.",
)
GIVEN_UP_CALLBACK_FAILED: Final = _error(
    "Given-up callback failed",
    "The service's on_given_up raised an error; the dead letter is written without it.",
)
GIVEN_UP_EFFECTS_FAILED: Final = _error(
    "Given-up effects failed",
    "The result of on_given_up cannot be published; the dead letter is written without it.",
)
SERVICE_STARTING: Final = _info("Service starting", "The process has read its settings and starts.")
STARTUP_PHASE_COMPLETED: Final = _info(
    "Startup phase completed", "One phase of the startup is done; the line has its duration."
)
DEPENDENCY_AWAITED: Final = _warning(
    "Dependency awaited", "The startup waits for a dependency that is unavailable, and tries again."
)
HEALTH_SERVER_STARTED: Final = _info(
    "Health server started", "/livez, /readyz and /metrics are served at the address in the line."
)
SERVICE_RUNNING: Final = _info("Service running", "The startup is complete and the service consumes.")
STARTUP_REFUSED: Final = _critical(
    "Startup refused", "A fact that only a person can change prevents the start (exit code 4)."
)
STARTUP_FAILED: Final = _critical("Startup failed", "The startup ended with an error (exit code 1).")
SERVICE_STOPPING: Final = _info("Service stopping", "The process finishes its work in flight and stops.")
SHUTDOWN_TIMED_OUT: Final = _warning(
    "Shutdown timed out",
    "Work in flight did not finish within STRIDER_GRACE; its messages will be redelivered.",
)
SERVICE_STOPPED: Final = _info("Service stopped", "The process ends with the exit code in the line.")
SECOND_SIGNAL_RECEIVED: Final = _warning(
    "Second signal received", "A second signal came during the shutdown; the process ends at once."
)
TASK_DIED: Final = _critical(
    "Task died", "A task that must run as long as the process has ended; the process stops."
)
TASK_NOT_CANCELLED: Final = _error(
    "Task not cancelled", "A task did not end after it was cancelled; the process ends without it."
)
CLOSE_TIMED_OUT: Final = _warning(
    "Close timed out", "A connection or server did not close in time and is left to the system."
)
CLOSE_FAILED: Final = _error(
    "Close failed", "Closing a connection or server raised an error; the others are closed all the same."
)
DEPENDENCY_LOST: Final = _warning("Dependency lost", "A dependency does not answer its probe any more.")
DEPENDENCY_RECOVERED: Final = _info("Dependency recovered", "A dependency answers its probe again.")
WATCHDOG_CHECK_FAILED: Final = _error(
    "Watchdog check failed", "One check of the watchdog raised an error; it continues with the next one."
)
STALL_DETECTED: Final = _error(
    "Stall detected", "Messages wait, nothing moved for STALL_THRESHOLD and no pause explains it."
)
STALL_DIAGNOSED: Final = _error(
    "Stall diagnosed", "State of dependencies, tasks and threads when the stall was detected."
)
STALLED_CONNECTIONS_REOPENED: Final = _warning(
    "Stalled connections reopened",
    "The watchdog reopened connections; the line has the result for each dependency.",
)
STALL_RESOLVED: Final = _info("Stall resolved", "The process moves again, or states why it does not.")
STALLED_PROCESS_ENDED: Final = _critical(
    "Stalled process ended", "Reconnecting did not help; the process exits with code 3."
)
MEMORY_LIMIT_EXCEEDED: Final = _critical(
    "Memory limit exceeded",
    "Resident memory stayed above STRIDER_MEMORY_LIMIT_MB; the process exits with code 1.",
)
TRACES_LOST: Final = _warning(
    "Traces lost", "The collector does not take spans; they are dropped until it does."
)
TRACE_EXPORT_RECOVERED: Final = _info("Trace export recovered", "The collector takes spans again.")

# --- scheduler ---
BACKLOG_UNKNOWN: Final = _warning(
    "Backlog unknown",
    "The pipeline's lag cannot be read; requests are released only as far as the last known lag allows.",
)
BACKPRESSURE_OFF: Final = _info(
    "Backpressure off", "The pipeline has caught up, and requests are released again."
)
BACKPRESSURE_ON: Final = _warning(
    "Backpressure on", "Nothing is released until the named consumer group has caught up."
)
BUDGET_EXHAUSTED: Final = _info(
    "Budget exhausted", "A run has used up its budget; its entries are closed with the reason `budget`."
)
BUDGET_RECOUNT_PAUSED: Final = _warning(
    "Budget recount paused",
    "A dependency is unavailable; runs with a budget wait until their usage is counted.",
)
CIRCUIT_BREAKER_TRIPPED: Final = _warning(
    "Circuit Breaker Tripped for {group}",
    "A host failed or refused too often, and is not fetched from for a while.",
)
DEEP_CRAWL_ACCEPTED: Final = _warning(
    "Deep crawl accepted",
    "A crawl spec follows more links from its seeds than is usual; logged once for each.",
)
SHORT_CRAWL_DELAY: Final = _warning(
    "Short crawl delay",
    "A crawl spec sets a delay below one second for hosts of a domain; logged once for each spec and domain.",
)
FRONTIER_RECORD_UNREADABLE: Final = _error(
    "Frontier record unreadable", "A record of the frontier log cannot be decoded and is skipped."
)
JOB_COMMAND_RECEIVED: Final = _info(
    "Job command received", "A person's command about a run or a host was read."
)
JOB_EVENT_UNREADABLE: Final = _error(
    "Job event unreadable", "A record of job-events or job-commands cannot be decoded and is skipped."
)
JOB_EVENTS_PAUSED: Final = _warning(
    "Job events paused", "Topic job-events or job-commands cannot be read or written; both wait."
)
LOST_PAGE_CHECK_PAUSED: Final = _warning(
    "Lost-page check paused", "A dependency is unavailable; the check runs again later."
)
LOST_PAGE_CHECK_STOPPED: Final = _warning(
    "Lost-page check stopped", "The shard has a newer owner, which continues the check."
)
PAGES_LOST: Final = _warning(
    "Pages lost", "Pages left the pipeline without being settled; their entries are retried or closed."
)
MANUAL_HOST_BLOCK_NOT_PERSISTED_YET: Final = _warning(
    "Manual host block not persisted yet",
    "The block holds in memory; its record follows with the next change.",
)
NOTHING_OPEN: Final = _info("Nothing open", "No entry of a run is open in the shards of this process.")
PAGES_REJECTED: Final = _info("Pages rejected", "Pages of a run were settled without content, by reason.")
PAGES_SETTLED: Final = _info("Pages settled", "Pages of a run were processed by every service.")
REFILL_PAUSED: Final = _warning(
    "Refill paused", "A dependency is unavailable; parked entries wait in the log."
)
RELEASE_LOOP_FAILED: Final = _error(
    "Release loop failed", "A loop of a shard ended with an error; the process exits."
)
RELEASE_PAUSED: Final = _warning(
    "Release paused", "A dependency is unavailable; the shard releases nothing until it is back."
)
RELEASE_STOPPED: Final = _warning(
    "Release stopped", "The shard has a newer owner, which releases its entries."
)
REQUESTS_FAILED: Final = _info(
    "Requests failed", "Requests of a run brought no page, by error class or outcome."
)
RETENTION_PAUSED: Final = _warning(
    "Retention paused", "A dependency is unavailable; retention runs again later."
)
ROBOTS_TXT_IGNORED: Final = _warning(
    "robots.txt ignored", "CRAWLER_RESPECT_ROBOTS_TXT is false, which is meant for sites of one's own."
)
ROBOTS_TXT_UNREACHABLE: Final = _info(
    "robots.txt unreachable", "The robots.txt of an origin could not be fetched; URLs of a run wait for it."
)
SHARD_CLEANED: Final = _info(
    "Shard cleaned", "Old closed entries, old hosts and ended runs of a shard were deleted."
)
SHARD_OF_ANOTHER_CLUSTER: Final = _warning(
    "Shard of another cluster",
    "The working set was built from another Kafka cluster's log, and is rebuilt from this one's: expected "
    "once after Kafka was replaced. If it is repeated, two clusters share one Redis.",
)
SHARD_REBUILT: Final = _info("Shard rebuilt", "The working set of a shard was rebuilt from its frontier log.")
SHARD_RETAKEN: Final = _info(
    "Shard retaken",
    "A rebuild was unnecessary: the shard's working set is intact, only its owner's epoch had advanced.",
)
SHARD_RESUMED: Final = _info("Shard resumed", "A rebalance left a shard here, and it continues.")
SHARD_TAKEN_OVER: Final = _info("Shard taken over", "This process owns a shard, whose working set is intact.")
SOURCE_OVERRIDE_NOT_SYNCED_YET: Final = _warning(
    "Source override not synced yet",
    "The override holds in memory, and is synced with a group's next release.",
)
SOURCE_UNREADABLE: Final = _error(
    "Source unreadable", "A record of sources cannot be decoded and is skipped."
)
SOURCES_PAUSED: Final = _warning(
    "Sources paused", "The topic sources cannot be read; changed sources apply when it can."
)
URLS_ACCEPTED: Final = _info("URLs accepted", "URLs of a run were accepted into the frontier.")
URLS_CLOSED: Final = _info("URLs closed", "Entries of a run were closed without a page, by reason.")
URLS_REFUSED: Final = _info("URLs refused", "URLs of a run were not accepted into the frontier, by reason.")

# --- validator ---
PAGE_REJECTED: Final = _info("Page rejected", "A parsed page is not content; the fields say why.")
