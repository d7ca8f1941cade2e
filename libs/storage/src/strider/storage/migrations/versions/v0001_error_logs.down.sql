DROP TABLE error_logs;
