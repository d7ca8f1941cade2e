"""Unit tests of the fetcher: decisions, topology and adapters without a socket."""
