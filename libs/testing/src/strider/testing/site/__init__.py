"""A website that nobody wrote: a graph made from a seed, served on loopback, with a log of who asked what."""

from .models import PathKind, PlannedResponse, SitePlan, SiteShape
from .plan import EXCLUDED, FORBIDDEN_ADDRESS, make_plan
from .process import AccessLogLine, ServedSite, serve_site

__all__ = [
    "EXCLUDED",
    "FORBIDDEN_ADDRESS",
    "AccessLine",
    "Kind",
    "PlannedResponse",
    "ServedSite",
    "SitePlan",
    "SiteShape",
    "make_plan",
    "serve_site",
]
