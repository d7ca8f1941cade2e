"""Decisions of the scheduler: values in, values out, no I/O."""
