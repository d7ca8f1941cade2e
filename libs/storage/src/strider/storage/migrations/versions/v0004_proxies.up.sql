-- Proxies, written by `strider proxies` and by the fetchers that use them. No read model: reading topics
-- again does not fill this table.
CREATE TABLE proxies (
    id                   bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    protocol             text        COLLATE "C" NOT NULL CHECK (protocol IN ('http', 'https', 'socks5')),
    -- Name or address of the machine.
    url                  text        COLLATE "C" NOT NULL,
    port                 integer     NOT NULL CHECK (port BETWEEN 1 AND 65535),
    username             text        COLLATE "C" NOT NULL DEFAULT '',
    -- Sealed with CRAWLER_PROXY_KEY, never readable here; empty for none.
    password_sealed      text        NOT NULL DEFAULT '',
    -- False with disabled_at: it failed too often, and is looked after. False without: a person's decision.
    is_active            boolean     NOT NULL DEFAULT true,
    disabled_at          timestamptz,
    success_count        bigint      NOT NULL DEFAULT 0,
    -- In a row, since the last success.
    failure_count        integer     NOT NULL DEFAULT 0,
    avg_response_time_ms double precision NOT NULL DEFAULT 0,
    last_used_at         timestamptz,
    last_success_at      timestamptz,
    last_failure_at      timestamptz,
    created_at           timestamptz NOT NULL DEFAULT now(),
    UNIQUE (protocol, url, port, username)
);

-- Who is next; who is looked after; who does worst.
CREATE INDEX proxies_in_turn ON proxies (last_used_at NULLS FIRST) WHERE is_active;
CREATE INDEX proxies_resting ON proxies (disabled_at) WHERE disabled_at IS NOT NULL;
CREATE INDEX proxies_by_failures ON proxies (failure_count);
