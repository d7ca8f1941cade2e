"""Runtime of a service: process, consumer loops, publishing, settings, observability."""
