DROP TABLE job_executions;
DROP TABLE jobs;
DROP TABLE sources;
