DROP INDEX error_logs_by_url;
DROP TABLE failed_requests;
DROP TABLE url_decisions;
DROP TABLE crawled_pages;
