"""Host groups: crawl delay, backoff, circuit breaker, robots.txt and per-site overrides."""
