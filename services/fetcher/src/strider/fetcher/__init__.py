"""The fetcher service: makes one HTTP request for each fetch request."""
