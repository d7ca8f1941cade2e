"""Link ingestion: reads seeds and pages, publishes links-discovered and pages-settled."""
