"""Processes of the stack: identity, start and stop, monitoring, takeover."""
