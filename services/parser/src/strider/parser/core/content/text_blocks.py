"""What a page is made of: blocks of text, and the places that hold them.

The shape between whoever walks the tree and the decision which of it is the main text. A place is an
element that can hold blocks; places are numbered in the order of the page, so that each place's
parent has a smaller number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

PLAIN: Final = 0
MAIN: Final = 1
ARTICLE: Final = 2
MARGINAL: Final = 4
"""Named as something that stands around the text."""

HEADER: Final = 8
"""A header element: marginal where it is the page's, part of the text where it is an article's."""

COMMENTS: Final = 16
"""Named as comments: marginal on an article, the text itself in a discussion."""

_MARGINAL_NAMES: Final = (
    "nav navbar navigation topnav subnav sitenav menu menus menubar submenu megamenu breadcrumb "
    "breadcrumbs crumbs sidebar sidebars footer foot cookie cookies consent gdpr onetrust newsletter "
    "newsletters subscribe subscription signup signin login popup popups modal modals overlay lightbox "
    "share shares sharing sharedaddy social socials addtoany related recommended recommendation "
    "recommendations promo promos promotion promotions advert advertisement advertising ad ads adsense "
    "sponsor sponsors sponsored taboola outbrain pagination pager paging toolbar tagcloud taglist "
    "dropdown tooltip tooltips toast offcanvas skip sr screenreader copyright upsell upsells "
    "crosssell crosssells minicart trending outline toc noprint bio postmeta masthead topbar searchform "
    "visuallyhidden user avatar signature sig caption captions disclaimer legal byline actions reactions "
    "credit credits"
)
_MARGINAL_WORDS: Final = frozenset(_MARGINAL_NAMES.split())
_MARGINAL_SUBSTRINGS: Final = (
    *("sidebar", "breadcrumb", "newsletter", "cookiebanner", "cookieconsent", "cookienotice", "relatedpost"),
    *("relatedarticle", "relatedproduct", "relatedcontent", "relatedtopic", "relatedstor", "relatedlink"),
    *("sharebutton", "sharelink", "shareicon", "sociallink", "socialicon", "socialshare", "socialmedia"),
    *(
        "sitefooter",
        "pagefooter",
        "globalfooter",
        "mainnav",
        "mainmenu",
        "globalnav",
        "recentlyviewed",
        "alsolike",
    ),
    *(
        "readnext",
        "megamenu",
        "backtotop",
        "recommendation",
        "authorbio",
        "authorbox",
        "skiplink",
    ),
    *(
        "tableofcontents",
        "advertisement",
        "postnavigation",
        "entrymeta",
        "screenreadertext",
        "visuallyhidden",
    ),
    *("morefrom", "nextprev", "prevnext", "searchform", "crosssell"),
    "bbcodeblockexpand",  # a quotation of what stands above, in forums
)
_COMMENT_WORDS: Final = frozenset(
    ["comment", "comments", "commentlist", "respond", "replies", "disqus", "review", "reviews"]
)
_ARTICLE_SUBSTRINGS: Final = (
    *("articlebody", "articlecontent", "articletext", "postbody", "postcontent", "posttext", "entrybody"),
    *("entrycontent", "entrytext", "storybody", "storycontent", "pagecontent", "maincontent", "blogcontent"),
)
_LETTERS: Final = re.compile(r"(?<![a-z0-9])[a-z]+")
"""Not behind digits: those are pieces of a hash, in which `ad` is no advertisement."""

_NOT_LETTERS: Final = re.compile(r"[^a-z ]+")
_MARGINAL_ROLES: Final = frozenset(
    {
        "navigation",
        "banner",
        "contentinfo",
        "complementary",
        "search",
        "dialog",
        "alertdialog",
        "menu",
        "menubar",
    }
)


class Level(NamedTuple):
    """A list, an item, a quotation, a table or a part of one, or code, that a block is in."""

    name: str
    serial: int
    """By which one is known from the next."""
    number: int = 0
    """Of an item in its list; of a cell its column."""
    said: str = ""
    """Of code its language."""


class TextBlock(NamedTuple):
    """One run of text: a paragraph, a heading, an item, a cell."""

    text: str
    kind: str
    """The element that it is: p, h1 to h6, li, td, pre, blockquote; or div."""
    link_chars: int
    container: int
    row: int
    """For a cell: which row, so that its neighbours are found."""
    markdown: str = ""
    """What stands in its lines; only where Markdown is wanted, like levels. Of a picture it is all."""
    levels: tuple[Level, ...] = ()
    """Outermost first."""


@dataclass(slots=True)
class PageBlocks:
    """A page as blocks."""

    blocks: list[TextBlock] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    """Of each place."""
    flags: list[int] = field(default_factory=list)
    """What each place is, by name and kind."""
    tags: list[str] = field(default_factory=list)


LINES_BEFORE_HEADING: Final = 3
LINES_AFTER_HEADING: Final = 8
MAX_LINE_CHARS: Final = 120


def lines_near_heading(blocks: Sequence[TextBlock]) -> Iterator[str]:
    """Give the short lines about the heading, those behind it first: they say who wrote it and when."""
    blocks = [block for block in blocks if block.text]  # without pictures
    at = next((index for index, block in enumerate(blocks) if block.kind == "h1"), -1)
    if at >= 0:
        for block in (
            *blocks[at + 1 : at + 1 + LINES_AFTER_HEADING],
            *blocks[max(0, at - LINES_BEFORE_HEADING) : at],
        ):
            if len(block.text) <= MAX_LINE_CHARS:
                yield block.text


@lru_cache(maxsize=8_192)
def container_flags(
    tag: str, classes: str | None = None, name: str | None = None, role: str | None = None
) -> int:
    """Say what a place is by what it is called; pages repeat their names, so answers are kept."""
    names = f"{classes or ''} {name or ''}"
    mark = _FLAGS_OF_TAG.get(tag, PLAIN)
    if role == "main":
        mark |= MAIN
    elif role in _MARGINAL_ROLES:
        mark |= MARGINAL
    if len(names) <= 1:
        return mark
    lower = names[:MAX_NAME_CHARS].lower()
    words = _LETTERS.findall(lower)
    squeezed = _NOT_LETTERS.sub("", lower)
    if not _MARGINAL_WORDS.isdisjoint(words) or any(part in squeezed for part in _MARGINAL_SUBSTRINGS):
        return mark | MARGINAL
    if not _COMMENT_WORDS.isdisjoint(words):
        return mark | COMMENTS
    return mark | ARTICLE if any(part in squeezed for part in _ARTICLE_SUBSTRINGS) else mark


MAX_NAME_CHARS: Final = 300

_FLAGS_OF_TAG: Final = {
    "main": MAIN,
    "article": ARTICLE,
    "nav": MARGINAL,
    "footer": MARGINAL,
    "aside": MARGINAL,
    "header": HEADER,
    "form": MARGINAL,
    "figcaption": MARGINAL,
}
