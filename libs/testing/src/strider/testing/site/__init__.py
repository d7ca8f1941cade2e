"""A generated website: a link graph from a seed, served on loopback, with an access log."""

from .models import PathKind, SitePlan, SiteShape
from .plan import EXCLUDED, FORBIDDEN_ADDRESS, make_plan
from .process import AccessLogLine, ServedSite, serve_site

__all__ = [
    "EXCLUDED",
    "FORBIDDEN_ADDRESS",
    "AccessLogLine",
    "PathKind",
    "ServedSite",
    "SitePlan",
    "SiteShape",
    "make_plan",
    "serve_site",
]
