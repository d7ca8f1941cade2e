"""Interpret extracted HTML: metadata, links, directives, pagination, page kind, authors, dates."""
