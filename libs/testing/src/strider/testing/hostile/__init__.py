"""A server that does on each path what some server on the internet does, and what must come of it."""

from .rows import DEADLINE_MS, FAILING, FINE, LIMIT_BYTES, Fine, Misdeed
from .server import (
    CHUNKED,
    PAGE,
    UNTIL_CLOSE,
    Hostile,
    Play,
    answer,
    for_ever,
    gzipped,
    redirect,
    reset,
    resets_after,
    running,
    says,
    silent,
)

__all__ = [
    "CHUNKED",
    "DEADLINE_MS",
    "FAILING",
    "FINE",
    "LIMIT_BYTES",
    "PAGE",
    "UNTIL_CLOSE",
    "Fine",
    "Hostile",
    "Misdeed",
    "Play",
    "answer",
    "for_ever",
    "gzipped",
    "redirect",
    "reset",
    "resets_after",
    "running",
    "says",
    "silent",
]
