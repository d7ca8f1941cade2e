"""Which site parsers are installed?

Whatever an installed package names under the entry point `strider.site_parsers`. One that cannot be loaded,
or that declares nonsense, is told and left out: a bad package costs its own sites alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from .base import SiteParser, find_declaration_errors

ENTRY_POINT_GROUP: Final = "strider.site_parsers"


@dataclass(frozen=True, slots=True)
class InstalledParsers:
    """What there is, and what could not be used, each with why."""

    parsers: tuple[SiteParser, ...] = ()
    errors: tuple[str, ...] = ()


def load_installed_parsers(points: Iterable[EntryPoint] | None = None) -> InstalledParsers:
    """Load all of them, in the order of their names and versions."""
    parsers: list[SiteParser] = []
    faults: list[str] = []
    for point in entry_points(group=ENTRY_POINT_GROUP) if points is None else points:
        try:
            parser = point.load()()
        except Exception as failure:  # noqa: BLE001  # others' code: whatever it raises costs itself alone
            faults.append(f"{point.name}: {type(failure).__name__}: {failure}")
            continue
        wrong = [f"{point.name} is no SiteParser"] if not isinstance(parser, SiteParser) else []
        wrong += [f"{point.name}: {fault}" for fault in find_declaration_errors(parser)] if not wrong else []
        faults += wrong
        if not wrong:
            parsers.append(parser)
    parsers.sort(key=lambda parser: (parser.name, version_key(parser)))
    return InstalledParsers(tuple(parsers), tuple(faults))


def version_key(parser: SiteParser) -> tuple[int, ...]:
    """Give a version in a form that can be compared."""
    return tuple(map(int, parser.version.split(".")))
