"""Reads fetch-requests, writes pages-fetched and fetches-completed: one request each."""
