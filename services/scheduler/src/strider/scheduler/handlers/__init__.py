"""Message handlers: one for each topic that the scheduler consumes."""
