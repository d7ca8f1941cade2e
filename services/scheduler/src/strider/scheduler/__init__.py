"""Reads links and outcomes, writes fetch-requests and the frontier: what is fetched next, and when."""
