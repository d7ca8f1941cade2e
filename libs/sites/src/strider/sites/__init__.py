"""Parsers for single sites: what they are, how they are found, and one for Amazon's product pages."""

from .base import ATTRIBUTES, FoundTexts, Select, SiteParser, find_declaration_errors
from .discovery import ENTRY_POINT_GROUP, InstalledParsers, load_installed_parsers
from .version_selection import InvalidParserChoice, SelectedParsers, select_parsers

__all__ = [
    "ATTRIBUTES",
    "ENTRY_POINT_GROUP",
    "BadChoice",
    "FoundParsers",
    "FoundTexts",
    "Select",
    "SiteParser",
    "SiteParsers",
    "choose_parsers",
    "faults_of",
    "find_parsers",
]
