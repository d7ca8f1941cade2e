-- The read models of a crawl. The topics are the truth: reading them again fills these tables again.
-- Keys and identifiers compare byte by byte (COLLATE "C"): that is what the crawler means by equal,
-- it does not change with the system's locale, and it is the cheapest.

-- What was fetched and is content: one row for each URL of each job, as it was found last.
CREATE TABLE crawled_pages (
    -- SHA-256, in hex, of the URL's normal form.
    url_key              text        COLLATE "C" NOT NULL,
    job_id               text        COLLATE "C" NOT NULL,
    url                  text        NOT NULL,
    host                 text        COLLATE "C" NOT NULL,
    -- Registrable domain of the host.
    domain               text        COLLATE "C" NOT NULL,
    execution_id         text        COLLATE "C" NOT NULL,
    crawl_spec_id        text        COLLATE "C" NOT NULL,
    -- Number of the fetch that this row shows: an older one never overwrites a newer one.
    fetch_sequence       bigint      NOT NULL,
    status_code          integer     NOT NULL,
    content_type         text        NOT NULL,
    -- Bytes as the server sent them, and after its encodings were undone.
    content_length       bigint      NOT NULL,
    decoded_length       bigint      NOT NULL,
    -- Hash of the text, by which change is judged, and of the decoded body. Empty where there is none.
    content_hash         text        COLLATE "C" NOT NULL,
    raw_hash             text        COLLATE "C" NOT NULL,
    depth                integer     NOT NULL,
    referrer             text        NOT NULL,
    redirect_chain       jsonb       NOT NULL,
    title                text        NOT NULL,
    description          text        NOT NULL,
    canonical_url        text        NOT NULL,
    language             text        NOT NULL,
    author               text        NOT NULL,
    -- As the page says it, ISO 8601; empty where it does not.
    published_at         text        NOT NULL,
    page_kind            text        NOT NULL,
    document_kind        text        NOT NULL,
    -- Main text, else all visible text; clipped. The lengths are those of the whole.
    text                 text        NOT NULL,
    text_length          bigint      NOT NULL,
    word_count           integer     NOT NULL,
    links_count          integer     NOT NULL,
    validation_status    text        NOT NULL,
    -- 0 to 1; -1 where it was not judged.
    quality              real        NOT NULL,
    warnings             jsonb       NOT NULL,
    parse_outcome        text        NOT NULL,
    parser               text        NOT NULL,
    parser_version       text        NOT NULL,
    -- What was wrong with it, though it is content; empty for most.
    error_message        text        NOT NULL,
    truncated            boolean     NOT NULL,
    rendered             boolean     NOT NULL,
    etag                 text        NOT NULL,
    last_modified        text        NOT NULL,
    -- Where the body is in the object store; empty where it was not put there.
    body_object          text        NOT NULL,
    metadata             jsonb       NOT NULL,
    crawl_duration_ms    integer     NOT NULL,
    parse_duration_ms    real        NOT NULL,
    -- When the answer that this row shows was complete; a `not modified` moves it on.
    crawled_at           timestamptz NOT NULL,
    validated_at         timestamptz NOT NULL,
    first_crawled_at     timestamptz NOT NULL,
    -- When the content hash changed last.
    changed_at           timestamptz NOT NULL,
    indexed_at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (url_key, job_id)
);

-- The server's own way to compress a text costs as much as all the rest of its row (60 of 110 µs a page):
-- lz4 where the server has it, else texts are kept as they are.
DO $$
BEGIN
    ALTER TABLE crawled_pages ALTER COLUMN text SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    ALTER TABLE crawled_pages ALTER COLUMN text SET STORAGE EXTERNAL;
END
$$;

CREATE INDEX crawled_pages_by_time ON crawled_pages (crawled_at, url_key, job_id);
CREATE INDEX crawled_pages_by_domain ON crawled_pages (domain, crawled_at);
CREATE INDEX crawled_pages_by_execution ON crawled_pages (execution_id, crawled_at);

-- Why a URL was not crawled, or not stored. The row is named by what was decided about what, so that
-- the same decision, read or made again in the same run, stays one row.
CREATE TABLE url_decisions (
    id                   text        COLLATE "C" PRIMARY KEY,
    -- Empty for what is no URL.
    url_key              text        COLLATE "C" NOT NULL,
    job_id               text        COLLATE "C" NOT NULL,
    url                  text        NOT NULL,
    -- Both empty where the URL has none.
    host                 text        COLLATE "C" NOT NULL,
    domain               text        COLLATE "C" NOT NULL,
    execution_id         text        COLLATE "C" NOT NULL,
    crawl_spec_id        text        COLLATE "C" NOT NULL,
    decision             text        NOT NULL CHECK (decision <> ''),
    reason               text        NOT NULL CHECK (reason <> ''),
    detail               text        NOT NULL,
    decided_by           text        NOT NULL,
    -- 0 where nothing was fetched.
    fetch_sequence       bigint      NOT NULL,
    status_code          integer     NOT NULL,
    -- -1 where it plays no part.
    depth                integer     NOT NULL,
    -- The page that it was found on; empty for seeds and entries.
    page_url             text        NOT NULL,
    redirect_target      text        NOT NULL,
    decided_at           timestamptz NOT NULL,
    indexed_at           timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX url_decisions_by_url ON url_decisions (url_key, decided_at);
CREATE INDEX url_decisions_by_time ON url_decisions (decided_at, id);
CREATE INDEX url_decisions_by_domain ON url_decisions (domain, decided_at);
CREATE INDEX url_decisions_by_execution ON url_decisions (execution_id, decided_at);

-- Requests that brought no page: one row a try. A try is no decision; what followed from the last one
-- stands in url_decisions.
CREATE TABLE failed_requests (
    url_key              text        COLLATE "C" NOT NULL,
    job_id               text        COLLATE "C" NOT NULL,
    fetch_sequence       bigint      NOT NULL,
    url                  text        NOT NULL,
    host                 text        COLLATE "C" NOT NULL,
    domain               text        COLLATE "C" NOT NULL,
    execution_id         text        COLLATE "C" NOT NULL,
    -- What was asked for: page, robots …
    kind                 text        NOT NULL,
    outcome              text        NOT NULL CHECK (outcome <> ''),
    error_class          text        NOT NULL,
    error_category       text        NOT NULL,
    error_message        text        NOT NULL,
    status_code          integer     NOT NULL,
    try_number           integer     NOT NULL,
    -- What Retry-After asked for; -1 where it did not.
    retry_after_seconds  real        NOT NULL,
    duration_ms          integer     NOT NULL,
    remote_address       text        NOT NULL,
    worker_id            text        NOT NULL,
    failed_at            timestamptz NOT NULL,
    indexed_at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (url_key, job_id, fetch_sequence)
);

CREATE INDEX failed_requests_by_time ON failed_requests (failed_at);
CREATE INDEX failed_requests_by_domain ON failed_requests (domain, failed_at);

-- An entry's name ends in its URL key, and people ask by URL.
CREATE INDEX error_logs_by_url ON error_logs (right(task_id, 64)) WHERE task_id <> '';
