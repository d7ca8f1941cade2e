"""What reads for the parser, and where.

Nothing is re-exported: a worker process imports only what it reads with, and starts the sooner.
"""
