-- Sources, jobs and executions. These tables are the record: no topic holds more of them, and nothing fills them again.

-- Websites to watch. The topic `sources` is published from here: a row is committed with published_version < version,
-- published, and then marked with published_version = version.
CREATE TABLE sources (
    -- Never given twice: a deleted source keeps its row.
    source_id                text        COLLATE "C" PRIMARY KEY,
    name                     text        NOT NULL,
    url                      text        NOT NULL,
    enabled                  boolean     NOT NULL DEFAULT true,
    -- The other fields of the event source-saved.
    settings                 jsonb       NOT NULL DEFAULT '{}',
    version                  bigint      NOT NULL DEFAULT 1,
    published_version        bigint      NOT NULL DEFAULT 0,
    created_at               timestamptz NOT NULL DEFAULT now(),
    updated_at               timestamptz NOT NULL DEFAULT now(),
    updated_by               text        NOT NULL DEFAULT '',
    deleted_at               timestamptz
);

CREATE UNIQUE INDEX sources_by_name ON sources (name) WHERE deleted_at IS NULL;
CREATE INDEX sources_unpublished ON sources (source_id) WHERE published_version < version;

CREATE TABLE jobs (
    id                       text        COLLATE "C" PRIMARY KEY,
    -- May be of no source: then an execution fails, and states the reason.
    source_id                text        COLLATE "C" NOT NULL DEFAULT '',
    url                      text        NOT NULL,
    name                     text        NOT NULL DEFAULT '',
    status                   text        COLLATE "C" NOT NULL
        CHECK (status IN ('pending', 'scheduled', 'running', 'paused', 'completed', 'failed', 'cancelled')),
    -- A number of interval_type; null: it runs once.
    interval_minutes         integer     CHECK (interval_minutes > 0),
    interval_type            text        COLLATE "C" NOT NULL DEFAULT 'minutes'
        CHECK (interval_type IN ('minutes', 'hours', 'days')),
    schedule_enabled         boolean     NOT NULL,
    adaptive_scheduling      boolean     NOT NULL DEFAULT true,
    -- The interval in force: its own, or the adaptive one. Null: it runs once.
    current_interval_seconds bigint      CHECK (current_interval_seconds > 0),
    -- When it is due; null in a state without a next run.
    next_run_at              timestamptz,
    -- Regular runs are at this time, plus or minus intervals, whatever retries and forced runs there are between them.
    phase_at                 timestamptz,
    -- The quarter of an hour of the day (UTC) that phase_at is in, while it is on schedule.
    slot                     smallint    CHECK (slot BETWEEN 0 AND 95),
    moved_at                 timestamptz,
    is_paused                boolean     NOT NULL DEFAULT false,
    paused_at                timestamptz,
    cancelled_at             timestamptz,
    -- Held from the claim of an execution until its run is published.
    lock_token               text        COLLATE "C",
    lock_acquired_at         timestamptz,
    max_retries              integer     NOT NULL DEFAULT 3 CHECK (max_retries >= 0),
    retry_backoff_seconds    integer     NOT NULL DEFAULT 60 CHECK (retry_backoff_seconds > 0),
    current_retry_count      integer     NOT NULL DEFAULT 0,
    execution_count          bigint      NOT NULL DEFAULT 0,
    last_run_at              timestamptz,
    error_message            text        NOT NULL DEFAULT '',
    -- Fields of a crawl spec that the job sets instead of its source.
    crawl_settings           jsonb       NOT NULL DEFAULT '{}',
    metadata                 jsonb       NOT NULL DEFAULT '{}',
    -- Grows with every change of settings, action and move, not with its runs.
    version                  bigint      NOT NULL DEFAULT 1,
    created_by               text        NOT NULL DEFAULT '',
    created_at               timestamptz NOT NULL,
    updated_at               timestamptz NOT NULL,
    CHECK ((lock_token IS NULL) = (lock_acquired_at IS NULL))
);

-- What a poll reads: the due jobs, in the order that they are claimed in.
CREATE INDEX jobs_due ON jobs (next_run_at, id)
    WHERE status IN ('pending', 'scheduled') AND NOT is_paused AND lock_token IS NULL;
CREATE INDEX jobs_locked ON jobs (lock_acquired_at) WHERE lock_token IS NOT NULL;
CREATE INDEX jobs_by_slot ON jobs (slot, current_interval_seconds) WHERE slot IS NOT NULL;
CREATE INDEX jobs_newest ON jobs (created_at, id);
CREATE INDEX jobs_by_status ON jobs (status, created_at, id);
CREATE INDEX jobs_by_source ON jobs (source_id, created_at, id);
CREATE UNIQUE INDEX jobs_by_name ON jobs (name) WHERE name <> '';

CREATE TABLE job_executions (
    -- The id of the run: job, hyphen, number.
    id                       text        COLLATE "C" PRIMARY KEY,
    job_id                   text        COLLATE "C" NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    execution_number         bigint      NOT NULL,
    status                   text        COLLATE "C" NOT NULL
        CHECK (status IN ('running', 'completed', 'failed', 'cancelled')),
    scheduled_for            timestamptz,
    -- When it was claimed, when its run was published, and when that had ended.
    started_at               timestamptz NOT NULL,
    launched_at              timestamptz,
    completed_at             timestamptz,
    -- Its job was cancelled; the run is being cancelled.
    cancel_requested_at      timestamptz,
    duration_ms              bigint,
    items_crawled            bigint      NOT NULL DEFAULT 0,
    items_indexed            bigint      NOT NULL DEFAULT 0,
    bytes_fetched            bigint      NOT NULL DEFAULT 0,
    error_message            text        NOT NULL DEFAULT '',
    stack_trace              text        NOT NULL DEFAULT '',
    cpu_time_ms              bigint,
    memory_peak_mb           integer,
    retry_attempt            integer     NOT NULL DEFAULT 0,
    counts                   jsonb       NOT NULL DEFAULT '{}',
    metadata                 jsonb       NOT NULL DEFAULT '{}',
    UNIQUE (job_id, execution_number),
    CHECK ((status = 'running') = (completed_at IS NULL))
);

CREATE INDEX job_executions_running ON job_executions (id) WHERE status = 'running' AND launched_at IS NOT NULL;
CREATE INDEX job_executions_started ON job_executions (started_at) INCLUDE (status, duration_ms);
CREATE INDEX job_executions_completed ON job_executions (completed_at) WHERE completed_at IS NOT NULL;
