"""Publishing: events of handlers, dead letters, and the breaker that limits them."""
