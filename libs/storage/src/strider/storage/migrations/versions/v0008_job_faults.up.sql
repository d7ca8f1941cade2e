-- Ids of deleted jobs that had executions. A job that is created with such an id continues their numbers: the ids of
-- its runs are those of no earlier run.
CREATE TABLE deleted_jobs (
    job_id          text        COLLATE "C" PRIMARY KEY,
    execution_count bigint      NOT NULL CHECK (execution_count > 0),
    deleted_at      timestamptz NOT NULL
);

-- 'source': it is paused while its source is disabled; empty: a person has paused it, or it is not paused.
ALTER TABLE jobs ADD COLUMN paused_by text COLLATE "C" NOT NULL DEFAULT '' CHECK (paused_by IN ('', 'source'));
UPDATE jobs SET paused_by = CASE WHEN status = 'paused' THEN 'source' ELSE '' END, metadata = metadata - 'paused_by'
 WHERE metadata ->> 'paused_by' = 'source';

-- How often the run of an execution was published because it was not known to be closed.
ALTER TABLE job_executions ADD COLUMN relaunches integer NOT NULL DEFAULT 0;

-- With all that the metrics count, so that those of a day read this index alone.
DROP INDEX job_executions_started;
CREATE INDEX job_executions_started ON job_executions (started_at) INCLUDE (status, duration_ms, launched_at, relaunches);
