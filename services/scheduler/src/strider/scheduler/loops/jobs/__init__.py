"""Loops of jobs: launch what is due, finish what has ended, measure."""
