"""Routes of the frontier: its URLs, the links that were discovered, and recovery of leases."""

from .entries import (
    MAX_CANCELLED_URLS,
    EntryPlaces,
    FrontierParts,
    UrlCancellations,
    entry_admin_routes,
    entry_routes,
)
from .leases import LeaseRecovery, lease_routes
from .links import LinkRecords, link_admin_routes, link_routes

__all__ = [
    "MAX_CANCELLED_URLS",
    "EntryPlaces",
    "FrontierParts",
    "LeaseRecovery",
    "LinkRecords",
    "UrlCancellations",
    "entry_admin_routes",
    "entry_routes",
    "lease_routes",
    "link_admin_routes",
    "link_routes",
]
