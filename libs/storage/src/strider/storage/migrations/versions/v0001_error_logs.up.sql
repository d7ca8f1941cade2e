-- What a service could not handle: one row for each dead letter. A read model: the dead-letter
-- topics are the truth, and reading them again fills the table again.
CREATE TABLE error_logs (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Where the message was read: makes a repeated dead letter the same row.
    topic           text        NOT NULL,
    partition       integer     NOT NULL CHECK (partition >= 0),
    "offset"        bigint      NOT NULL CHECK ("offset" >= 0),
    consumer_group  text        NOT NULL,
    service         text        NOT NULL,
    -- Job and URL key of the entry that it was about; empty where nobody could tell.
    task_id         text        NOT NULL DEFAULT '',
    execution_id    text        NOT NULL DEFAULT '',
    category        text        NOT NULL CHECK (category <> ''),
    reason          text        NOT NULL CHECK (reason <> ''),
    -- Class of the exception; empty where nothing was raised.
    type            text        NOT NULL DEFAULT '',
    message         text        NOT NULL DEFAULT '',
    stack_trace     text        NOT NULL DEFAULT '',
    trace_id        text        NOT NULL DEFAULT '',
    occurred_at     timestamptz NOT NULL,
    recorded_at     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT error_logs_coordinates UNIQUE (topic, partition, "offset", consumer_group)
);

CREATE INDEX error_logs_by_time ON error_logs (occurred_at DESC);
CREATE INDEX error_logs_by_category ON error_logs (category, occurred_at DESC);
CREATE INDEX error_logs_by_task ON error_logs (task_id, occurred_at DESC) WHERE task_id <> '';
