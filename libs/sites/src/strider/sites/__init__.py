"""Site parsers: base class, discovery, selection of versions, and a parser for Amazon."""

from .base import ATTRIBUTES, FoundTexts, Select, SiteParser, find_declaration_errors
from .discovery import ENTRY_POINT_GROUP, InstalledParsers, load_installed_parsers
from .version_selection import InvalidParserChoice, SelectedParsers, select_parsers

__all__ = [
    "ATTRIBUTES",
    "ENTRY_POINT_GROUP",
    "FoundTexts",
    "InstalledParsers",
    "InvalidParserChoice",
    "Select",
    "SelectedParsers",
    "SiteParser",
    "find_declaration_errors",
    "load_installed_parsers",
    "select_parsers",
]
