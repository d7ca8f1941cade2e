"""What do the bytes of a page say? The decisions, as functions of values."""

from .outcomes import PARSER, PARSER_VERSION, Unreadable, unreadable
from .parsing import parse
from .readings import Anchor, Anchors, HtmlReading, LinkTag, MetaTag
from .sizing import Fitted, fit
from .tools import Limits, Tools, Unpacked

__all__ = [
    "PARSER",
    "PARSER_VERSION",
    "Anchor",
    "Anchors",
    "Fitted",
    "HtmlReading",
    "Limits",
    "LinkTag",
    "MetaTag",
    "Tools",
    "Unpacked",
    "Unreadable",
    "fit",
    "parse",
    "unreadable",
]
