"""Scheduler: decides what is fetched next and when, from links and outcomes."""
