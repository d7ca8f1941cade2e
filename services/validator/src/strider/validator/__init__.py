"""Reads pages-parsed, writes pages-validated or pages-rejected: content or garbage."""
