"""I/O and parsing libraries of the parser.

Nothing is re-exported: a worker process imports only what it parses with, so it starts faster.
"""
