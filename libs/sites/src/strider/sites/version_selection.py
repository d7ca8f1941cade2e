"""Select the versions of site parsers, and the parser of a page.

Of each name the newest version is selected, unless another one is named: so a new version can be tried before
it is enabled. Of several parsers for one host, the one with the longest domain is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from strider.urls import host_of

from .base import SiteParser
from .discovery import version_key


class InvalidParserChoice(ValueError):
    """A selection that names an unknown parser or version; the message is one line."""


@dataclass(frozen=True, slots=True)
class SelectedParsers:
    """The selected parsers by domain."""

    by_domain: Mapping[str, tuple[SiteParser, ...]] = field(default_factory=dict)

    def parser_for(self, url: str) -> SiteParser | None:
        """Return the parser of a page; None for the general one."""
        if not self.by_domain:
            return None
        labels = host_of(url).split(".")
        rest = url.partition("://")[2]
        path = rest[rest.find("/") :] if "/" in rest else "/"
        for start in range(len(labels)):
            for parser in self.by_domain.get(".".join(labels[start:]), ()):
                if parser.reads_path(path):
                    return parser
        return None

    def named(self, name: str) -> SiteParser | None:
        """Return the selected parser of a name, whatever its domains are."""
        found = (parser for parsers in self.by_domain.values() for parser in parsers)
        return next((parser for parser in found if parser.name == name), None)


def select_parsers(parsers: Iterable[SiteParser], wanted: str = "") -> SelectedParsers:
    """Select by a list such as `amazon=1.2, other=off`; unlisted parsers get their newest version."""
    choices = dict(_parse_choices(wanted))
    by_name: dict[str, list[SiteParser]] = {}
    for parser in parsers:
        by_name.setdefault(parser.name, []).append(parser)
    if unknown := set(choices) - set(by_name):
        raise InvalidParserChoice(f"no site parser is named {min(unknown)!r}")
    by_domain: dict[str, tuple[SiteParser, ...]] = {}
    for name, versions in by_name.items():
        if (chosen := _select_version(name, versions, choices.get(name, ""))) is not None:
            for domain in chosen.domains:
                by_domain[domain] = (*by_domain.get(domain, ()), chosen)
    return SelectedParsers(by_domain)


def _parse_choices(wanted: str) -> Iterable[tuple[str, str]]:
    for part in filter(None, (part.strip() for part in wanted.split(","))):
        name, sign, version = (piece.strip() for piece in part.partition("="))
        if not sign or not version:
            raise InvalidParserChoice(f"{part!r} is invalid: expected name=version or name=off")
        yield name, version


def _select_version(name: str, versions: list[SiteParser], wanted: str) -> SiteParser | None:
    if wanted == "off":
        return None
    if not wanted:
        return max(versions, key=version_key)
    found = next((one for one in versions if one.version == wanted), None)
    if found is None:
        raise InvalidParserChoice(
            f"{name} has no version {wanted}, only {', '.join(v.version for v in versions)}"
        )
    return found
