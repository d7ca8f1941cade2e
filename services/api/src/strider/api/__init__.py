"""HTTP API: accepts seeds, serves pages and decisions."""
