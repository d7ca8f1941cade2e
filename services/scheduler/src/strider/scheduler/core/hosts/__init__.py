"""Host groups: crawl delay, back-off, circuit breaker, robots.txt and per-site overrides."""
