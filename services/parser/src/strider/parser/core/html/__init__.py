"""Interpret extracted HTML: metadata, links, pagination, page kind, authors, dates."""
