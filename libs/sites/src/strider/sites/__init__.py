"""Parsers for single sites: what they are, how they are found, and one for Amazon's product pages."""

from .choice import BadChoice, SiteParsers, choose_parsers
from .discovery import GROUP, FoundParsers, find_parsers
from .parsers import ATTRIBUTES, Found, Select, SiteParser, faults_of

__all__ = [
    "ATTRIBUTES",
    "GROUP",
    "BadChoice",
    "Found",
    "FoundParsers",
    "Select",
    "SiteParser",
    "SiteParsers",
    "choose_parsers",
    "faults_of",
    "find_parsers",
]
