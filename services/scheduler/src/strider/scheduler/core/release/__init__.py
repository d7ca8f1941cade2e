"""Release: decision about a due entry, priority, fetch request and backpressure."""
