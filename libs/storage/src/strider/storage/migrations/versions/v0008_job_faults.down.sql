DROP INDEX job_executions_started;
CREATE INDEX job_executions_started ON job_executions (started_at) INCLUDE (status, duration_ms);

ALTER TABLE job_executions DROP COLUMN relaunches;

UPDATE jobs SET metadata = metadata || '{"paused_by": "source"}' WHERE paused_by = 'source';
ALTER TABLE jobs DROP COLUMN paused_by;

DROP TABLE deleted_jobs;
