"""Parse fetched pages: `pages-fetched` -> `pages-parsed`."""
