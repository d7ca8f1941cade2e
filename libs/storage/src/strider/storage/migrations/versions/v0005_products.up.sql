-- What pages offer: a read model, one row for each product of each job, as it was found last. A product is
-- known by its URL. What the page at that URL says wins over what a list says that points to it.
CREATE TABLE products (
    -- SHA-256, in hex, of the normal form of the product's URL. Several products at one URL: the first has
    -- that key, each further one a key of its own.
    url_hash             text        COLLATE "C" NOT NULL,
    job_id               text        COLLATE "C" NOT NULL,
    url                  text        NOT NULL,
    host                 text        COLLATE "C" NOT NULL,
    -- Registrable domain of the host.
    domain               text        COLLATE "C" NOT NULL,
    -- The page that says so, and the fetch that brought it.
    page_key             text        COLLATE "C" NOT NULL,
    page_url             text        NOT NULL,
    execution_id         text        COLLATE "C" NOT NULL,
    fetch_sequence       bigint      NOT NULL,
    -- Whether the page is the product's own.
    is_own_page          boolean     NOT NULL,
    product_name         text        NOT NULL,
    description          text        NOT NULL,
    -- NULL where the page does not say.
    price                numeric,
    -- ISO 4217; empty where the page does not say: a guess would be a wrong price.
    currency             text        COLLATE "C" NOT NULL,
    old_price            numeric,
    price_low            numeric,
    price_high           numeric,
    availability         text        COLLATE "C" NOT NULL,
    -- 0 to 5.
    rating               double precision,
    review_count         bigint,
    brand                text        NOT NULL,
    category             text        NOT NULL,
    sku                  text        NOT NULL,
    gtin                 text        COLLATE "C" NOT NULL,
    mpn                  text        NOT NULL,
    condition            text        NOT NULL,
    seller               text        NOT NULL,
    -- [{"url", "kind", "alt", "position", "width", "height", "bytes"}]; as rows in product_images.
    images               jsonb       NOT NULL,
    -- Of each attribute by name: where it was found, and how sure the parser is of it, 0 to 1.
    sources              jsonb       NOT NULL,
    confidences          jsonb       NOT NULL,
    -- Further attributes, by name.
    metadata             jsonb       NOT NULL,
    validation_status    text        NOT NULL,
    parser               text        NOT NULL,
    parser_version       text        NOT NULL,
    -- Of the attributes: tells whether the product changed.
    content_hash         text        COLLATE "C" NOT NULL,
    created_at           timestamptz NOT NULL,
    -- When the content hash changed last.
    updated_at           timestamptz NOT NULL,
    crawled_at           timestamptz NOT NULL,
    indexed_at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (url_hash, job_id)
);

CREATE INDEX products_by_page ON products (page_key, job_id);
CREATE INDEX products_by_domain ON products (domain, crawled_at);
CREATE INDEX products_by_change ON products (updated_at);
CREATE INDEX products_by_price ON products (currency, price) WHERE price IS NOT NULL;
CREATE INDEX products_by_availability ON products (availability, crawled_at);
-- What a page says may be longer than an index takes.
CREATE INDEX products_by_brand ON products (left(brand, 200)) WHERE brand <> '';
CREATE INDEX products_by_category ON products (left(category, 200)) WHERE category <> '';
CREATE INDEX products_by_sku ON products (left(sku, 200)) WHERE sku <> '';
CREATE INDEX products_by_gtin ON products (gtin) WHERE gtin <> '';

-- Pictures as rows. They have no table of their own: they change with their product, and only with it.
CREATE VIEW product_images AS
SELECT product.url_hash AS product_url_hash, product.job_id, image.position, image.url AS image_url,
    image.kind AS image_type, image.alt AS alt_text, image.width, image.height, image.bytes AS file_size
FROM products AS product, jsonb_to_recordset(product.images)
    AS image (url text, kind text, alt text, position integer, width integer, height integer, bytes bigint);
