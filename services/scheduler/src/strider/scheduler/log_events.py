"""Log events of the scheduler."""

from __future__ import annotations

from typing import Final

from strider.messaging.log_events import error, info, warning

ADAPTIVE_COPIES_PAUSED: Final = warning(
    "Adaptive copies paused",
    "Redis is unavailable; the intervals of sources are recorded, and are copied there later.",
)
ADAPTIVE_COPY_REFUSED: Final = error(
    "Adaptive copy refused",
    "Redis refuses the copy of the state of a source: its key has another type. Delete the key.",
)
ADAPTIVE_INTERVAL_CHANGED: Final = info(
    "Adaptive interval changed",
    "The interval of a source was doubled after a run without a change, or reset by a change.",
)
ADAPTIVE_STATES_DELETED: Final = info(
    "Adaptive states deleted",
    "The intervals of sources that were removed, or that no run has compared for 400 days, were forgotten.",
)
ADAPTIVE_STATE_UNREADABLE: Final = error(
    "Adaptive state unreadable", "A record of adaptive-state cannot be decoded; its source begins again."
)
BACKLOG_UNKNOWN: Final = warning(
    "Backlog unknown",
    "The pipeline's lag cannot be read; requests are released only as far as the last known lag allows.",
)
BACKPRESSURE_OFF: Final = info(
    "Backpressure off", "The pipeline has caught up, and requests are released again."
)
BACKPRESSURE_ON: Final = warning(
    "Backpressure on", "Nothing is released until the named consumer group has caught up."
)
BUDGET_EXHAUSTED: Final = info(
    "Budget exhausted", "A run has used up its budget; its entries are closed with the reason `budget`."
)
BUDGET_RECOUNT_PAUSED: Final = warning(
    "Budget recount paused",
    "A dependency is unavailable; runs with a budget wait until their usage is counted.",
)
CIRCUIT_BREAKER_TRIPPED: Final = warning(
    "Circuit Breaker Tripped for {group}",
    "A host failed or refused too often, and is not fetched from for a while.",
)
DEEP_CRAWL_ACCEPTED: Final = warning(
    "Deep crawl accepted",
    "A crawl spec follows more links from its seeds than is usual; logged once for each.",
)
SHORT_CRAWL_DELAY: Final = warning(
    "Short crawl delay",
    "A crawl spec sets a delay below one second for hosts of a domain; logged once for each spec and domain.",
)
EXECUTIONS_PRUNED: Final = info(
    "Executions pruned", "Ended executions of jobs that are too old, or too many, were deleted."
)
FRONTIER_RECORD_UNREADABLE: Final = error(
    "Frontier record unreadable", "A record of the frontier log cannot be decoded and is skipped."
)
HOST_WAITS: Final = warning(
    "Host waits",
    "A host of a run failed too often, or asked for fewer requests: it waits until the time given.",
)
JOB_COMMAND_RECEIVED: Final = info(
    "Job command received", "A person's command about a run or a host was read."
)
JOB_EVENTS_PAUSED: Final = warning(
    "Job events paused", "Topic job-events or job-commands cannot be read or written; both wait."
)
JOB_LAUNCHED: Final = info("Job launched", "The run of a job was published, and is crawled.")
JOB_LAUNCHED_AGAIN: Final = warning(
    "Job launched again",
    "The closing message of a run had no effect: link-ingestion refused it (usually because its "
    "STRIDER_OWNER_KEY is another one), or it was deleted unread. The run was published again.",
)
JOB_NOT_LAUNCHED: Final = warning(
    "Job not launched", "An execution failed before its run: its source or its settings cannot be used."
)
JOB_REFUSED: Final = error(
    "Job refused",
    "A store refuses the state or the result of one execution; it is tried again, and delays no other job.",
)
JOB_RUN_FINISHED: Final = info("Job run finished", "The run of a job has ended, and its result is stored.")
JOBS_OFF: Final = warning(
    "Jobs off", "STRIDER_OWNER_KEY is not set, so no seed can be signed, and no job is launched here."
)
JOBS_PAUSED: Final = warning(
    "Jobs paused",
    "PostgreSQL or Kafka is unavailable, or refuses a command; crawling continues, and jobs are launched and "
    "finished later.",
)
JOBS_PLANNED_AGAIN: Final = warning(
    "Jobs planned again",
    "The clock of PostgreSQL was set back, and the next runs of these jobs were too far away.",
)
LOST_PAGE_CHECK_PAUSED: Final = warning(
    "Lost-page check paused", "A dependency is unavailable; the check runs again later."
)
LOST_PAGE_CHECK_STOPPED: Final = warning(
    "Lost-page check stopped", "The shard has a newer owner, which continues the check."
)
OLD_RUN_LOGS_DELETED: Final = info(
    "Old run logs deleted", "Archived logs of runs that are older than SCHEDULER_KEEP_LOGS_DAYS were deleted."
)
PAGES_LOST: Final = warning(
    "Pages lost", "Pages left the pipeline without being settled; their entries are retried or closed."
)
MANUAL_HOST_BLOCK_NOT_PERSISTED_YET: Final = warning(
    "Manual host block not persisted yet",
    "The block holds in memory; its record follows with the next change.",
)
NOTHING_OPEN: Final = info("Nothing open", "No entry of a run is open in the shards of this process.")
PAGES_REJECTED: Final = info("Pages rejected", "Pages of a run were settled without content, by reason.")
PAGES_SETTLED: Final = info("Pages settled", "Pages of a run were processed by every service.")
REFILL_PAUSED: Final = warning(
    "Refill paused", "A dependency is unavailable; parked entries wait in the log."
)
RELEASE_LOOP_FAILED: Final = error(
    "Release loop failed", "A loop of a shard ended with an error; the process exits."
)
RELEASE_PAUSED: Final = warning(
    "Release paused", "A dependency is unavailable; the shard releases nothing until it is back."
)
RELEASE_STOPPED: Final = warning(
    "Release stopped", "The shard has a newer owner, which releases its entries."
)
REQUESTS_FAILED: Final = info(
    "Requests failed", "Requests of a run brought no page, by error class or outcome."
)
RETENTION_PAUSED: Final = warning(
    "Retention paused", "A dependency is unavailable; retention runs again later."
)
ROBOTS_TXT_IGNORED: Final = warning(
    "robots.txt ignored", "CRAWLER_RESPECT_ROBOTS_TXT is false, which is meant for sites of one's own."
)
ROBOTS_TXT_UNREACHABLE: Final = info(
    "robots.txt unreachable", "The robots.txt of an origin could not be fetched; URLs of a run wait for it."
)
RUN_COMPLETED: Final = info(
    "Run completed", "A run was closed or cancelled, and nothing of it is open: `run_completed` is published."
)
RUN_COMPLETION_PAUSED: Final = warning(
    "Run completion paused", "A dependency is unavailable; the ends of runs are proven later."
)
RUN_LOG_ARCHIVE_UNREADABLE: Final = warning(
    "Run log archive unreadable", "The archived log of a run cannot be read; what Redis has replaces it."
)
RUN_LOG_ARCHIVING_PAUSED: Final = warning(
    "Run log archiving paused", "Redis or the object store is unavailable; logs are archived later."
)
RUN_LOG_REFUSED: Final = error(
    "Run log refused",
    "Redis or the object store refuses the log of a run; it is tried again, and delays no other one.",
)
SHARD_CLEANED: Final = info(
    "Shard cleaned", "Old closed entries, old hosts and ended runs of a shard were deleted."
)
SHARD_OF_ANOTHER_CLUSTER: Final = warning(
    "Shard of another cluster",
    "The working set was built from another Kafka cluster's log, and is rebuilt from this one's: expected "
    "once after Kafka was replaced. If it is repeated, two clusters share one Redis.",
)
SHARD_REBUILT: Final = info("Shard rebuilt", "The working set of a shard was rebuilt from its frontier log.")
SHARD_RETAKEN: Final = info(
    "Shard retaken",
    "A rebuild was unnecessary: the shard's working set is intact, only its owner's epoch had advanced.",
)
SHARD_RESUMED: Final = info("Shard resumed", "A rebalance left a shard here, and it continues.")
SHARD_TAKEN_OVER: Final = info("Shard taken over", "This process owns a shard, whose working set is intact.")
SOURCE_OVERRIDE_NOT_SYNCED_YET: Final = warning(
    "Source override not synced yet",
    "The override holds in memory, and is synced with a group's next release.",
)
SOURCE_UNREADABLE: Final = error("Source unreadable", "A record of sources cannot be decoded and is skipped.")
SOURCES_PAUSED: Final = warning(
    "Sources paused", "The topic sources cannot be read; changed sources apply when it can."
)
STALE_JOB_LOCKS_CLEARED: Final = warning(
    "Stale job locks cleared",
    "Schedulers stopped while they launched runs; their locks are taken over, and the runs published again.",
)
URLS_ACCEPTED: Final = info("URLs accepted", "URLs of a run were accepted into the frontier.")
URLS_CLOSED: Final = info("URLs closed", "Entries of a run were closed without a page, by reason.")
URLS_REFUSED: Final = info("URLs refused", "URLs of a run were not accepted into the frontier, by reason.")
