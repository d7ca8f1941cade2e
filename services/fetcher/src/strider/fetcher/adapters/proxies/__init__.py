"""TODO: proxies."""
