"""links-discovered  -> accept   -> frontier, urls-decided
fetches-completed -> conclude -> frontier, hosts, links-discovered (redirects), urls-decided
pages-settled     -> settle   -> frontier
what is due       -> release  -> fetch-requests, frontier, urls-decided
"""  # the picture is the docstring

from strider.scheduler.loops.run_log import Closing
from strider.scheduler.ports import (
    FrontierLog,
    FrontierLogReader,
    FrontierLogs,
    Meter,
    NoSchedulerMeter,
    SchedulerOptions,
    Specs,
    Voice,
)

from .scheduler import CONSUMES, DEAD_LETTERS, PRODUCES, Scheduler

__all__ = [
    "CONSUMES",
    "DEAD_LETTERS",
    "PRODUCES",
    "Archive",
    "Closing",
    "Meter",
    "NoSchedulerMeter",
    "Scheduler",
    "SchedulerOptions",
    "Specs",
    "Truth",
    "Truths",
    "Voice",
]
