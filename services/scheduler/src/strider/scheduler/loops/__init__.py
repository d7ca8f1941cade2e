"""Background loops: release, refill, retention, sweep, lost pages, backpressure, run log."""
