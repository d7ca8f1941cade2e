"""What do the bytes of a page say? The decisions, as functions of values."""

from .event_size import FittedEvent, fit_event
from .html.models import Anchor, Anchors, HtmlExtract, LinkTag, MetaTag
from .parse_page import parse
from .parser_ports import DecodedBody, ParseLimits, ParserTools
from .unreadable_pages import PARSER, PARSER_VERSION, ParseFailure, unreadable_page

__all__ = [
    "PARSER",
    "PARSER_VERSION",
    "Anchor",
    "Anchors",
    "Fitted",
    "HtmlReading",
    "LinkTag",
    "MetaTag",
    "ParseLimits",
    "Tools",
    "Unpacked",
    "Unreadable",
    "fit_event",
    "parse",
    "unreadable",
]
