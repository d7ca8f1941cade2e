"""TODO: crawl."""
