"""What is a parser for one site?

It names its domains and its version, and says in one table where on a page each attribute stands. It never
sees a tree: whoever walks the tree looks up the selectors and hands over texts as they stand. Prices, states,
ratings and addresses are read from these texts by the crawler, in the same way for all sites. A site that
needs more than selectors overrides `refine`, which takes texts and gives texts.
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
"""What a product has; every other name of a table becomes a field of the page's further records."""

LIST_ATTRIBUTES: Final = frozenset({"category", "image_urls"})
"""Attributes of which every text counts; of the others the first."""

GENERAL_PARSER_NAME: Final = "strider"
"""What the parser of all pages is called, in records and metrics: nobody else can be."""

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{1,40}")
_VERSION: Final = re.compile(r"\d{1,6}(?:\.\d{1,6}){0,2}")
_DOMAIN: Final = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+")

FoundTexts = Mapping[str, Sequence[str]]
"""Texts by the names of the table, each without the spaces around it; a name without a text is not there."""


@dataclass(frozen=True, slots=True)
class Select:
    """Where an attribute stands: selectors of CSS, of which the first that finds a text counts."""

    css: tuple[str, ...]
    attribute: str = ""
    """The element's attribute that holds the text; empty: the text within the element."""
    is_list: bool = False
    """Whether every element that is found says something."""

    @classmethod
    def text(cls, *css: str) -> Select:
        """Take the text of the first element."""
        return cls(css)

    @classmethod
    def value(cls, attribute: str, *css: str) -> Select:
        """Take an attribute of the first element."""
        return cls(css, attribute)

    @classmethod
    def all(cls, *css: str, attribute: str = "") -> Select:
        """Take all elements."""
        return cls(css, attribute, is_list=True)


class SiteParser:
    """The base of all site parsers."""

    name: ClassVar[str]
    """What it is called in records, in metrics and on the command line."""
    version: ClassVar[str]
    """Raised with every change after which the same page may say something else."""
    domains: ClassVar[tuple[str, ...]]
    """The sites that it reads, each with all hosts below."""
    paths: ClassVar[str] = ""
    """A regular expression of the paths that it reads; empty: all."""
    required: ClassVar[tuple[str, ...]] = ("name",)
    """What every page must have; where one is missing, the page counts as incomplete."""
    selectors: ClassVar[Mapping[str, Select]]
    """Where everything stands, in one place."""

    def reads_path(self, path: str) -> bool:
        """Say whether it reads pages of this path, with its query."""
        return not self.paths or re.search(self.paths, path) is not None

    def refine(self, found: FoundTexts, url: str) -> FoundTexts:
        """Change what was found before it is read; here nothing."""
        del url
        return found


def find_declaration_errors(parser: SiteParser) -> Iterator[str]:
    """Say what is wrong with a parser's declarations; nothing for a good one."""
    for name, form in (("name", _NAME), ("version", _VERSION)):
        said = getattr(parser, name, None)
        if not isinstance(said, str) or form.fullmatch(said) is None:
            yield f"{name} is {said!r}"
    if getattr(parser, "name", "") == GENERAL_PARSER_NAME:
        yield f"name is {GENERAL!r}, which the general parser is called"
    domains = getattr(parser, "domains", ())
    if not domains or not all(isinstance(one, str) and _DOMAIN.fullmatch(one) for one in domains):
        yield f"domains are {domains!r}"
    selectors = getattr(parser, "selectors", {})
    if not selectors or not all(isinstance(one, Select) and one.css for one in selectors.values()):
        yield "selectors are missing, or one of them names no element"
    for name in parser.required:
        if name not in ATTRIBUTES and name not in selectors:
            yield f"it requires {name!r}, which nothing of it can find"
    try:
        re.compile(parser.paths)
    except re.error as failure:
        yield f"paths are no regular expression: {failure}"
