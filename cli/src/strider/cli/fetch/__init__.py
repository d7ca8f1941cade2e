"""Single fetches, robots.txt checks and proxy checks, as the fetcher service makes them."""
