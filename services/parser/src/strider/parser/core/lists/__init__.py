"""Parse documents that list URLs: sitemaps, feeds and JSON feeds."""
