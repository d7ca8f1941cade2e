"""Logs of runs, and live streams of them and of the crawler's state."""

from .event_streams import Feeds, OpenStreams, event_stream_routes
from .job_logs import JobLogs, job_log_routes

__all__ = ["Feeds", "JobLogs", "OpenStreams", "event_stream_routes", "job_log_routes"]
