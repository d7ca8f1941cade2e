"""Looks up a site parser's selectors in a tree of its own.

Decides only that a parser's failure is told and costs its own reading alone: the page is read all the same.
"""

from __future__ import annotations

from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from strider.parser.core.document.shadow_dom import inline_shadow_roots
from strider.parser.core.site_parser_fields import RunSiteParser, SiteParserResult, no_site_parser
from strider.sites import Select, SelectedParsers, SiteParser

from .limits import find_cut_offset

MAX_TEXTS_PER_SELECTOR: Final = 200
"""Of one selector."""
MAX_TEXT_CHARS: Final = 10_000


def make_site_reader(parsers: SelectedParsers) -> RunSiteParser:
    """Make what reads pages of the sites that these parsers are for."""
    if not parsers.by_domain:
        return no_site_parser

    def read_site(url: str, content: bytes) -> SiteParserResult | None:
        parser = parsers.parser_for(url)
        return None if parser is None else _read(parser, url, content)

    return read_site


def _read(parser: SiteParser, url: str, content: bytes) -> SiteParserResult:
    content = inline_shadow_roots(content)
    root = LexborHTMLParser(content[: find_cut_offset(content)]).root
    try:
        texts = {} if root is None else {name: _texts(root, one) for name, one in parser.selectors.items()}
        refined = parser.refine({name: said for name, said in texts.items() if said}, url)
        found = {
            str(name): tuple(map(str, said))[:MAX_TEXTS_PER_SELECTOR]
            for name, said in refined.items()
            if said
        }
    except (MemoryError, SelectolaxError):
        raise
    except (Exception, SystemExit) as failure:  # noqa: BLE001  # others' code: whatever it raises is told of the page
        return SiteParserResult(
            parser.name, parser.version, failure=f"{type(failure).__name__}: {failure}"[:300]
        )
    missing = tuple(name for name in parser.required if not any(found.get(name, ())))
    return SiteParserResult(parser.name, parser.version, found, missing)


def _texts(root: LexborNode, wanted: Select) -> list[str]:
    for selector in wanted.css:
        said = (_text(node, wanted.attribute) for node in _found(root, selector)[:MAX_TEXTS_PER_SELECTOR])
        found = [text for text in said if text]
        if found:
            return found if wanted.is_list else found[:1]
    return []


class BadSelectorError(ValueError):
    """A selector that is none."""


def _found(root: LexborNode, selector: str) -> list[LexborNode]:
    try:
        return root.css(selector)
    except SelectolaxError:
        if is_valid_selector(selector):
            raise
        raise BadSelectorError(f"{selector!r} is no selector") from None


def is_valid_selector(text: str) -> bool:
    """Say whether elements can be looked for by this."""
    try:
        LexborHTMLParser("<p>").css(text)
    except SelectolaxError:
        return False
    return True


def find_broken_selectors(parser: SiteParser) -> list[str]:
    """Say which selectors of a parser are none, each with whose it is."""
    return [
        f"{parser.name} {parser.version}: {name}: {selector!r} is no selector"
        for name, wanted in parser.selectors.items()
        for selector in wanted.css
        if not is_valid_selector(selector)
    ]


def _text(node: LexborNode, attribute: str) -> str:
    if attribute:
        return (node.attributes.get(attribute) or "").strip()[:MAX_TEXT_CHARS]
    return " ".join(node.text(separator=" ")[: 2 * MAX_TEXT_CHARS].split())[:MAX_TEXT_CHARS]
