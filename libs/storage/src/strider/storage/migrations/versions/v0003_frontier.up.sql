-- The frontier as rows: a moment behind the topics `frontier` and `hosts`, which are the truth.
-- Reading them again fills these tables again. Nothing decides by them.

-- Where every URL of every job stands.
CREATE TABLE urls (
    -- SHA-256, in hex, of the URL's normal form.
    url_key              text        COLLATE "C" NOT NULL,
    job_id               text        COLLATE "C" NOT NULL,
    url                  text        NOT NULL,
    host                 text        COLLATE "C" NOT NULL,
    domain               text        COLLATE "C" NOT NULL,
    -- What is known of it in one word: never_crawled, fetched, failed, blocked.
    status               text        COLLATE "C" NOT NULL,
    -- Where its entry is, and why.
    state                text        COLLATE "C" NOT NULL,
    reason               text        COLLATE "C" NOT NULL,
    execution_id         text        COLLATE "C" NOT NULL,
    crawl_spec_id        text        COLLATE "C" NOT NULL,
    fetch_sequence       bigint      NOT NULL,
    -- 0 where nothing was answered.
    http_status          integer     NOT NULL,
    depth                integer     NOT NULL,
    priority             integer     NOT NULL,
    referrer             text        NOT NULL,
    redirect_target      text        NOT NULL,
    tries                integer     NOT NULL,
    -- Failures in a row.
    error_count          integer     NOT NULL,
    error_class          text        NOT NULL,
    content_hash         text        COLLATE "C" NOT NULL,
    raw_hash             text        COLLATE "C" NOT NULL,
    unchanged_count      integer     NOT NULL,
    -- Null for what has not happened, or is not to.
    discovered_at        timestamptz,
    last_crawled_at      timestamptz,
    next_crawl_at        timestamptz,
    changed_at           timestamptz,
    closed_at            timestamptz,
    updated_at           timestamptz NOT NULL,
    PRIMARY KEY (url_key, job_id)
);

CREATE INDEX urls_by_domain ON urls (domain, status);
CREATE INDEX urls_by_execution ON urls (execution_id, state);

-- How every group stands, and every origin's robots.txt with its last good copy.
CREATE TABLE hosts (
    -- The origin of a robots.txt, else the group.
    name                      text        COLLATE "C" PRIMARY KEY,
    kind                      text        NOT NULL,
    group_name                text        COLLATE "C" NOT NULL,
    -- The delay that holds, what settings ask for, and what robots.txt asks for.
    delay_seconds             double precision NOT NULL,
    configured_delay_seconds  double precision NOT NULL,
    robots_delay_seconds      double precision NOT NULL,
    max_in_flight             integer     NOT NULL,
    is_active                 boolean     NOT NULL,
    breaker                   text        NOT NULL,
    -- Blocked by its own answers; barred by a person.
    blocked_until             timestamptz,
    block_reason              text        NOT NULL,
    barred_until              timestamptz,
    barred_by                 text        NOT NULL,
    barred_for                text        NOT NULL,
    failures                  integer     NOT NULL,
    unreachable_since         timestamptz,
    last_success_at           timestamptz,
    last_error_class          text        NOT NULL,
    pages_fetched             bigint      NOT NULL,
    requests_failed           bigint      NOT NULL,
    bytes_fetched             bigint      NOT NULL,
    robots_state              text        NOT NULL,
    robots_text               text        NOT NULL,
    robots_status             integer     NOT NULL,
    robots_url                text        NOT NULL,
    robots_fetched_at         timestamptz,
    robots_expires_at         timestamptz,
    sitemap_urls              jsonb       NOT NULL,
    updated_at                timestamptz NOT NULL
);

CREATE INDEX hosts_by_group ON hosts (group_name);
