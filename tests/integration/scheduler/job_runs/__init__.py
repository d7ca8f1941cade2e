"""Jobs of the API on a running scheduler; all tests of this folder share one pipeline."""
