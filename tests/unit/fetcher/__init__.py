"""What the fetcher decides, and what it waits for, without a socket."""
