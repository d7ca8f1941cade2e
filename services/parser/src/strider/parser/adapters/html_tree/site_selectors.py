"""Apply the selectors of a site parser to a tree of its own.

A site parser that fails is reported, and costs only its own reading: the page is parsed all the same.
"""

from __future__ import annotations

from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from strider.parser.core.document.markup_rewriting import inline_shadow_roots
from strider.parser.core.parser_ports import NO_SITE_PARSER
from strider.parser.core.site_parser_fields import RunSiteParser, SiteParserResult, no_site_parser
from strider.sites import Select, SelectedParsers, SiteParser

from .limits import find_cut_offset

MAX_TEXTS_PER_SELECTOR: Final = 200
"""Of one selector."""
MAX_TEXT_CHARS: Final = 10_000

UNKNOWN_VERSION: Final = "0"
"""Of a parser that is named, and is not there."""


def make_site_reader(parsers: SelectedParsers) -> RunSiteParser:
    """Return a reader of the pages whose sites have a parser."""
    if not parsers.by_domain:
        return no_site_parser

    def read_site(url: str, content: bytes) -> SiteParserResult | None:
        parser = parsers.parser_for(url)
        return None if parser is None else _read_page(parser, url, content)

    return read_site


def make_named_reader(parsers: SelectedParsers, name: str) -> RunSiteParser:
    """Return a reader of all pages by one parser, or by none; one that is not installed is a failure."""
    if name == NO_SITE_PARSER:
        return no_site_parser
    parser = parsers.named(name)
    if parser is None:
        missing = SiteParserResult(name, UNKNOWN_VERSION, failure="not installed, or switched off")
        return lambda url, content: missing  # noqa: ARG005  # the port's shape
    return lambda url, content: _read_page(parser, url, content)


def _read_page(parser: SiteParser, url: str, content: bytes) -> SiteParserResult:
    content = inline_shadow_roots(content)
    root = LexborHTMLParser(content[: find_cut_offset(content)]).root
    try:
        texts = (
            {} if root is None else {name: _select_texts(root, one) for name, one in parser.selectors.items()}
        )
        refined = parser.refine({name: values for name, values in texts.items() if values}, url)
        found = {
            str(name): tuple(map(str, values))[:MAX_TEXTS_PER_SELECTOR]
            for name, values in refined.items()
            if values
        }
    except (MemoryError, SelectolaxError):
        raise
    except (Exception, SystemExit) as failure:  # noqa: BLE001  # third-party code may raise anything; it becomes the fault
        return SiteParserResult(
            parser.name, parser.version, failure=f"{type(failure).__name__}: {failure}"[:300]
        )
    missing = tuple(name for name in parser.required if not any(found.get(name, ())))
    return SiteParserResult(parser.name, parser.version, found, missing)


def _select_texts(root: LexborNode, wanted: Select) -> list[str]:
    for selector in wanted.css:
        values = (
            _node_text(node, wanted.attribute)
            for node in _select_nodes(root, selector)[:MAX_TEXTS_PER_SELECTOR]
        )
        found = [text for text in values if text]
        if found:
            return found if wanted.is_list else found[:1]
    return []


class BadSelectorError(ValueError):
    """A selector that is not valid CSS."""


def _select_nodes(root: LexborNode, selector: str) -> list[LexborNode]:
    try:
        return root.css(selector)
    except SelectolaxError:
        if is_valid_selector(selector):
            raise
        raise BadSelectorError(f"{selector!r} is no selector") from None


def is_valid_selector(text: str) -> bool:
    """Whether a selector is valid."""
    try:
        LexborHTMLParser("<p>").css(text)
    except SelectolaxError:
        return False
    return True


def find_broken_selectors(parser: SiteParser) -> list[str]:
    """Return a message for each selector of a parser that is not valid."""
    return [
        f"{parser.name} {parser.version}: {name}: {selector!r} is no selector"
        for name, wanted in parser.selectors.items()
        for selector in wanted.css
        if not is_valid_selector(selector)
    ]


def _node_text(node: LexborNode, attribute: str) -> str:
    if attribute:
        return (node.attributes.get(attribute) or "").strip()[:MAX_TEXT_CHARS]
    return " ".join(node.text(separator=" ")[: 2 * MAX_TEXT_CHARS].split())[:MAX_TEXT_CHARS]
