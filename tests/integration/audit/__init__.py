"""Tests of `strider parser audit`."""
