-- How far the work for each URL is, as far as tables know: what waits here may be on the bus (queued) or at a fetcher
-- (crawling), which the working set alone can say.
CREATE VIEW tasks AS
SELECT
    urls.*,
    CASE
        WHEN urls.state <> 'in_progress' THEN urls.state
        WHEN page.fetch_sequence >= urls.fetch_sequence THEN 'parsing'
        ELSE 'downloaded'
    END AS task_state
FROM urls LEFT JOIN crawled_pages AS page USING (url_key, job_id);
