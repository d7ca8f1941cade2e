"""Where things rest: PostgreSQL, Redis and object store adapters, keys and migrations."""
