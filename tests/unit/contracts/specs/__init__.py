"""Tests of the settings of crawl specs."""
