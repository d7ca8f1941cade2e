"""The numbers by which Lexbor knows elements: cheaper than names, which are made anew for each node.

Decides nothing. Only elements of HTML have numbers of their own; those of others differ from tree to tree.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from selectolax.lexbor import LexborHTMLParser

TEXT: Final = "-text"
COMMENT: Final = "-comment"

_NAMES: Final = (
    "a abbr acronym address area article aside audio b base bdi bdo big blockquote body br button "
    "canvas center cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed "
    "fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup i "
    "iframe img input ins kbd label li link main map mark math menu meta meter nav nobr noembed noframes "
    "noscript object ol optgroup p param picture pre progress q rb rp rt ruby s samp script section "
    "select small source span strike strong style sub summary sup svg table tbody td template textarea "
    "th time title tr track tt u ul var video wbr "
)


@cache
def tag_ids() -> dict[str, int]:
    """Give the number of each element that readers tell apart, and those of text and comments."""
    tree = LexborHTMLParser("<p>x<!---->")
    numbers = {name: tree.create_node(name).tag_id for name in _NAMES.split()}
    for node in tree.css("p")[0].iter(include_text=True):
        numbers[node.tag or ""] = node.tag_id
    return numbers
