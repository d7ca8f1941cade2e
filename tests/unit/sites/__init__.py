"""Tests of the site parsers."""
