"""Reads outcomes and settlements, counts them per host in a Faust table that may be wiped."""
