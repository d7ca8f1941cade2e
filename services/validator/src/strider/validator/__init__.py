"""The validator service: tells pages with content from block pages, errors and empty pages."""
