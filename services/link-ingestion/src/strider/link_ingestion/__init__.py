"""Reads seeds and pages, writes links-discovered and pages-settled: the one way in."""
