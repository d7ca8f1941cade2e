"""Which site parsers are installed, as a table for people."""

from __future__ import annotations

import sys

from strider.parser.adapters.html_tree.site_selectors import find_broken_selectors
from strider.sites import load_installed_parsers


def show_installed() -> int:
    """Print them, and what cannot be used on the error stream; gives the exit code."""
    found = load_installed_parsers()
    for parser in found.parsers:
        print(f"{parser.name:<20} {parser.version:<10} {' '.join(parser.domains)}")
    faults = [*found.errors, *(fault for parser in found.parsers for fault in find_broken_selectors(parser))]
    for fault in faults:
        print(f"strider parser: {fault}", file=sys.stderr)
    return 1 if faults else 0
