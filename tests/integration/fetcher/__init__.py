"""The fetcher against real sockets, and against a real broker and store."""
