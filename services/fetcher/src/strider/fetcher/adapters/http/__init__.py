"""HTTP client: from a fetch request to the response, its failure and its timings."""
