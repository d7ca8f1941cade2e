"""links-discovered  -> accept   -> frontier, urls-decided
fetches-completed -> conclude -> frontier, hosts, links-discovered (redirects), urls-decided
pages-settled     -> settle   -> frontier
what is due       -> release  -> fetch-requests, frontier, urls-decided
"""  # the picture is the docstring

from .noting import Closing
from .ports import Archive, Meter, NoMeter, Options, Specs, Truth, Truths, Voice
from .scheduler import CONSUMES, DEAD_LETTERS, PRODUCES, Scheduler

__all__ = [
    "CONSUMES",
    "DEAD_LETTERS",
    "PRODUCES",
    "Archive",
    "Closing",
    "Meter",
    "NoMeter",
    "Options",
    "Scheduler",
    "Specs",
    "Truth",
    "Truths",
    "Voice",
]
