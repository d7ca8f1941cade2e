"""Tests of `strider parse`."""
