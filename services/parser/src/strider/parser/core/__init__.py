"""Parse a fetched page into its event: decisions as functions of values.

The core knows no parser library, clock, file or network; the caller passes readers as functions. Main entry:
`parse`.
"""

from .event_size import FittedEvent, fit_event
from .html.models import Anchor, Anchors, HtmlExtract, LinkTag, MetaTag
from .parse_page import parse
from .parser_ports import DEFAULT_OPTIONS, DecodedBody, PageOptions, ParseLimits, ParserTools
from .unreadable_pages import PARSER, PARSER_VERSION, ParseFailure, unreadable_page

__all__ = [
    "DEFAULT_OPTIONS",
    "PARSER",
    "PARSER_VERSION",
    "Anchor",
    "Anchors",
    "DecodedBody",
    "FittedEvent",
    "HtmlExtract",
    "LinkTag",
    "MetaTag",
    "PageOptions",
    "ParseFailure",
    "ParseLimits",
    "ParserTools",
    "fit_event",
    "parse",
    "unreadable_page",
]
