"""Worker processes that parse pages under limits of time and memory.

Nothing is re-exported: a worker process imports only what it parses with, so it starts faster.
"""
