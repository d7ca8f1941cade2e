"""Life of a service process: startup, consumers, supervision, health, watchdog, shutdown."""
