"""A page as text blocks and the containers that hold them.

The interface between the HTML reader and the selection of the main text. A container is an element that can
hold blocks; containers are numbered in document order, so that a parent has a smaller number than its
children.
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
"""Named like something that surrounds the text."""

HEADER: Final = 8
"""A header element: marginal if it is the page's, part of the text if it is an article's."""

COMMENTS: Final = 16
"""Named like comments: marginal on an article, the text itself in a discussion."""

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
    "bbcodeblockexpand",  # a quotation of an earlier post, in forums
)
_COMMENT_WORDS: Final = frozenset(
    ["comment", "comments", "commentlist", "respond", "replies", "disqus", "review", "reviews"]
)
_ARTICLE_SUBSTRINGS: Final = (
    *("articlebody", "articlecontent", "articletext", "postbody", "postcontent", "posttext", "entrybody"),
    *("entrycontent", "entrytext", "storybody", "storycontent", "pagecontent", "maincontent", "blogcontent"),
)
_WORD: Final = re.compile(r"(?<![a-z0-9])[a-z]+")
"""Not after digits: those are parts of a hash, in which `ad` is no advertisement."""

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


class BlockLevel(NamedTuple):
    """A list, item, quotation, table, part of a table, or code around a block."""

    name: str
    serial: int
    """Distinguishes it from the next one of the same name."""
    number: int = 0
    """Of an item its number in the list; of a cell its column."""
    language: str = ""
    """The language of code."""


class TextBlock(NamedTuple):
    """One run of text: a paragraph, a heading, an item, a cell."""

    text: str
    kind: str
    """Its element: p, h1 to h6, li, td, pre, blockquote; or div."""
    link_chars: int
    container: int
    row: int
    """For a cell its row, so that neighbours can be found."""
    markdown: str = ""
    """Its inline markup; set only if Markdown is wanted, like levels. An image has nothing else."""
    levels: tuple[BlockLevel, ...] = ()
    """Outermost first."""


@dataclass(slots=True)
class PageBlocks:
    """The blocks of a page and their containers."""

    blocks: list[TextBlock] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    """The parent of each container."""
    flags: list[int] = field(default_factory=list)
    """The flags of each container, by its name and element."""
    tags: list[str] = field(default_factory=list)


LINES_BEFORE_HEADING: Final = 3
LINES_AFTER_HEADING: Final = 8
MAX_LINE_CHARS: Final = 120


def lines_near_heading(blocks: Sequence[TextBlock]) -> Iterator[str]:
    """Yield the short lines near the heading, those after it first: they name author and date."""
    blocks = [block for block in blocks if block.text]  # without images
    at = next((index for index, block in enumerate(blocks) if block.kind == "h1"), -1)
    if at >= 0:
        for block in (
            *blocks[at + 1 : at + 1 + LINES_AFTER_HEADING],
            *blocks[max(0, at - LINES_BEFORE_HEADING) : at],
        ):
            if len(block.text) <= MAX_LINE_CHARS:
                yield block.text


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


@lru_cache(maxsize=8_192)
def container_flags(
    tag: str, classes: str | None = None, name: str | None = None, role: str | None = None
) -> int:
    """Return the flags of a container by its names; results are cached, since pages repeat their names."""
    names = f"{classes or ''} {name or ''}"
    flags = _FLAGS_OF_TAG.get(tag, PLAIN)
    if role == "main":
        flags |= MAIN
    elif role in _MARGINAL_ROLES:
        flags |= MARGINAL
    if len(names) <= 1:
        return flags
    lower = names[:MAX_NAME_CHARS].lower()
    words = _WORD.findall(lower)
    letters = _NOT_LETTERS.sub("", lower)
    if not _MARGINAL_WORDS.isdisjoint(words) or any(part in letters for part in _MARGINAL_SUBSTRINGS):
        return flags | MARGINAL
    if not _COMMENT_WORDS.isdisjoint(words):
        return flags | COMMENTS
    return flags | ARTICLE if any(part in letters for part in _ARTICLE_SUBSTRINGS) else flags
