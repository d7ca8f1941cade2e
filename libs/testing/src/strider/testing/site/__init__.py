"""A website that nobody wrote: a graph made from a seed, served on loopback, with a log of who asked what."""

from .models import Answer, Kind, Plan, Shape
from .plan import EXCLUDED, FORBIDDEN_ADDRESS, make_plan
from .process import AccessLine, Site, serve_site

__all__ = [
    "EXCLUDED",
    "FORBIDDEN_ADDRESS",
    "AccessLine",
    "Answer",
    "Kind",
    "Plan",
    "Shape",
    "Site",
    "make_plan",
    "serve_site",
]
