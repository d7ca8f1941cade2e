"""Sources: the rules about their fields, and the crawl specs of their runs."""
