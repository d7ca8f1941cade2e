"""Find the installed site parsers by the entry point group `strider.site_parsers`.

A parser that cannot be loaded, or whose declarations are invalid, is reported and left out, so that a broken
package affects its own sites only.
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
    """The usable parsers, and an error for each unusable one."""

    parsers: tuple[SiteParser, ...] = ()
    errors: tuple[str, ...] = ()


def load_installed_parsers(points: Iterable[EntryPoint] | None = None) -> InstalledParsers:
    """Load all installed parsers, ordered by name and version."""
    parsers: list[SiteParser] = []
    errors: list[str] = []
    for point in entry_points(group=ENTRY_POINT_GROUP) if points is None else points:
        try:
            parser = point.load()()
        except Exception as failure:  # noqa: BLE001  # others' code: whatever it raises costs itself alone
            errors.append(f"{point.name}: {type(failure).__name__}: {failure}")
            continue
        wrong = [f"{point.name} is not a SiteParser"] if not isinstance(parser, SiteParser) else []
        wrong += [f"{point.name}: {error}" for error in find_declaration_errors(parser)] if not wrong else []
        errors += wrong
        if not wrong:
            parsers.append(parser)
    parsers.sort(key=lambda parser: (parser.name, version_key(parser)))
    return InstalledParsers(tuple(parsers), tuple(errors))


def version_key(parser: SiteParser) -> tuple[int, ...]:
    """Return a version in comparable form."""
    return tuple(map(int, parser.version.split(".")))
