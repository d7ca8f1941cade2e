"""Base class of site parsers, and checks of their declarations.

A site parser declares its domains, its version, and a table of selectors for its attributes. It never sees
the tree: the crawler looks up the selectors and passes the texts unchanged. Prices, states, ratings and
addresses are parsed from these texts in the same way for all sites. A site that needs more than selectors
overrides `refine`, which takes and returns texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

ATTRIBUTES: Final = frozenset(
    [
        *("name", "description", "price", "currency", "old_price", "availability", "rating", "review_count"),
        *("brand", "category", "sku", "gtin", "mpn", "condition", "seller", "image_urls"),
    ]
)
"""Attributes of a product; every other name in a table becomes an extra field of the page."""

GENERAL_PARSER_NAME: Final = "strider"
"""Name of the general parser in records and metrics; reserved."""

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{1,40}")
_VERSION: Final = re.compile(r"\d{1,6}(?:\.\d{1,6}){0,2}")
_DOMAIN: Final = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+")

FoundTexts = Mapping[str, Sequence[str]]
"""Texts by the names of the table, stripped; a name without a text is missing."""


@dataclass(frozen=True, slots=True)
class Select:
    """CSS selectors of an attribute; the first one that finds a text counts."""

    css: tuple[str, ...]
    attribute: str = ""
    """The element's attribute that holds the text; empty: the text within the element."""
    is_list: bool = False
    """Whether all matching elements count."""

    @classmethod
    def text(cls, *css: str) -> Select:
        """Select the text of the first element."""
        return cls(css)

    @classmethod
    def value(cls, attribute: str, *css: str) -> Select:
        """Select an attribute of the first element."""
        return cls(css, attribute)

    @classmethod
    def all(cls, *css: str, attribute: str = "") -> Select:
        """Select all elements."""
        return cls(css, attribute, is_list=True)


class SiteParser:
    """Base class of all site parsers."""

    name: ClassVar[str]
    """Its name in records, in metrics and on the command line."""
    version: ClassVar[str]
    """To be increased with every change that may alter the result of a page."""
    domains: ClassVar[tuple[str, ...]]
    """The sites that it parses, each with all its subdomains."""
    paths: ClassVar[str] = ""
    """A regular expression of the paths that it parses; empty: all."""
    required: ClassVar[tuple[str, ...]] = ("name",)
    """Attributes that every page must have; where one is missing, the page counts as incomplete."""
    selectors: ClassVar[Mapping[str, Select]]
    """Selectors by attribute."""

    def reads_path(self, path: str) -> bool:
        """Whether it parses pages of this path, which includes the query."""
        return not self.paths or re.search(self.paths, path) is not None

    def refine(self, found: FoundTexts, url: str) -> FoundTexts:
        """Change the extracted texts before they are parsed; the default changes nothing."""
        del url
        return found


def find_declaration_errors(parser: SiteParser) -> Iterator[str]:
    """Yield the faults of a parser's declarations."""
    for name, form in (("name", _NAME), ("version", _VERSION)):
        value = getattr(parser, name, None)
        if not isinstance(value, str) or form.fullmatch(value) is None:
            yield f"{name} is {value!r}"
    if getattr(parser, "name", "") == GENERAL_PARSER_NAME:
        yield f"name is {GENERAL_PARSER_NAME!r}, which is reserved for the general parser"
    domains = getattr(parser, "domains", ())
    if not domains or not all(isinstance(one, str) and _DOMAIN.fullmatch(one) for one in domains):
        yield f"domains are {domains!r}"
    selectors = getattr(parser, "selectors", {})
    if not selectors or not all(isinstance(one, Select) and one.css for one in selectors.values()):
        yield "selectors are missing, or one of them names no element"
    for name in parser.required:
        if name not in ATTRIBUTES and name not in selectors:
            yield f"it requires {name!r}, for which it has no selector"
    try:
        re.compile(parser.paths)
    except re.error as failure:
        yield f"paths is not a valid regular expression: {failure}"
