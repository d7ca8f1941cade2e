"""Reads pages-fetched, writes pages-parsed: what the bytes say."""
