"""Which site parsers are installed, as a table for people."""

from __future__ import annotations

import sys

from strider.sites import find_parsers


def show_installed() -> int:
    """Print them, and what cannot be used on the error stream; gives the exit code."""
    found = find_parsers()
    for parser in found.parsers:
        print(f"{parser.name:<20} {parser.version:<10} {' '.join(parser.domains)}")
    for fault in found.faults:
        print(f"strider parser: {fault}", file=sys.stderr)
    return 1 if found.faults else 0
