"""HTML through selectolax: one walk over Lexbor's tree, then the text of what is left visible.

Decides what of a tree is text and which elements are looked at. Knows nothing of URLs, limits of
events or outcomes. It trusts nothing: a tree may have a million nodes, and Lexbor's cost grows with the
square of the depth and of the attributes of an element, so what is beyond reason is cut before it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from strider.parser.core.document.shadow_dom import inline_shadow_roots
from strider.parser.core.html.link_headers import USED_RELS
from strider.parser.core.html.models import (
    BASIC_ONLY,
    ELSEWHERE,
    FRAME_REL,
    Anchor,
    Depth,
    HtmlExtract,
    LinkTag,
    MetaTag,
)

from .anchors import ANCHOR_TAGS, MAX_ANCHOR_CHARS, MAX_ANCHORS, read_anchors
from .blocks import find_excluded, find_hidden, read_blocks
from .limits import find_cut_offset
from .records import read_record_fields
from .script_rendered_text import read_script_rendered_blocks
from .tag_ids import tag_ids
from .text import MAX_INLINE_NODES, collapse_spaces, inline_text, read_text
from .times import read_times
from .traversal import ElementIndex, tag_mask

MAX_NOSCRIPT_CHARS: Final = 500
MAX_METAS: Final = 500
MAX_LINK_TAGS: Final = 1_000

_PARSE_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS
"""Without callbacks for changes of the tree, to which nobody here listens."""


def read_html(content: bytes, depth: Depth = BASIC_ONLY) -> HtmlExtract:
    """Read a document in UTF-8, as deep as is asked for; bytes that are none become U+FFFD."""
    end = find_cut_offset(content)
    tree = LexborHTMLParser(content if end is None else content[:end], options=_PARSE_OPTIONS)
    root = tree.root
    if root is None:
        return HtmlExtract(is_cut=end is not None)
    walk = ElementIndex(root)
    if walk.count("template") and (shown := inline_shadow_roots(content)) is not content:
        return read_html(shown, depth)
    anchors = walk.select(tag_mask(ANCHOR_TAGS))
    body = tree.body
    hidden = [] if body is None else find_hidden(body)
    metas = [_meta_tag(node) for node in walk.elements("meta")[:MAX_METAS]]
    return HtmlExtract(
        title=_title(walk),
        heading=_heading(walk),
        language=_attribute(root, "lang") or _attribute(root, "xml:lang"),
        base=next((href for node in walk.elements("base") if (href := _attribute(node, "href"))), ""),
        anchors=read_anchors(walk, anchors, with_blocks=depth.has_blocks),
        links=_links(walk),
        frames=_frames(walk),
        metas=metas,
        noscript=_noscript(walk),
        paragraphs=walk.count("p"),
        scripts=walk.count("script"),
        forms=walk.count("form"),
        password_fields=sum(
            _attribute(node, "type").lower() == "password" for node in walk.elements("input")
        ),
        is_cut=end is not None or len(anchors) > MAX_ANCHORS,
        **(
            {}
            if body is None or not depth.has_blocks
            else _main_level_fields(root, body, walk, hidden, depth, content=content, metas=metas)
        ),
        # Last: it takes the tree apart.
        text="" if body is None else read_text(body, walk, anchors=anchors, hidden=hidden),
    )


def _main_level_fields(
    root: LexborNode,
    body: LexborNode,
    walk: ElementIndex,
    hidden: Sequence[LexborNode],
    depth: Depth,
    *,
    content: bytes,
    metas: Sequence[MetaTag],
) -> dict[str, Any]:
    """Read what the main text and its like are decided by."""
    hidden = find_excluded(body, hidden, has_code=bool(walk.count("pre") or walk.count("code")))
    seen = read_blocks(body, hidden, with_markdown=depth.with_markdown)
    scripts = [
        node
        for node in walk.elements("script")[:MAX_SCRIPTS]
        if _attribute(node, "type").partition(";")[0].lower() in _JSON_LD_TYPES
    ]
    data = [node.text()[:MAX_DATA_CHARS] for node in scripts]
    times = read_times(
        body, walk.elements("time")[:MAX_TIMES], has_properties=any(map(content.count, _DATE_HINTS))
    )
    records = {"json_ld_scripts": tuple(data), **read_record_fields(root, body)} if depth.with_records else {}
    return {
        **records,
        "blocks": read_script_rendered_blocks(body, seen, hidden, with_markdown=depth.with_markdown),
        "structured_text": "\n".join(data)[:MAX_DATA_CHARS],
        "published_times": times.published,
        "modified_times": times.modified,
        "item_types": tuple(
            _attribute(node, "itemtype") or _attribute(node, "typeof")
            for node in body.css("[itemscope][itemtype],[typeof]")[:MAX_TIMES]
        ),
        **(_author_fields(body, metas) if any(map(content.count, _SIGNS)) else {}),
    }


_JSON_LD_TYPES: Final = frozenset({"application/ld+json"})
_DATE_HINTS: Final = (b"datePublished", b"dateModified")
_AUTHOR_SELECTOR: Final = '[itemprop~="author"] [itemprop~="name"],[itemprop~="author"],[rel~="author"]'
_BYLINE_SELECTOR: Final = '[class*="author" i],[class*="byline" i]'
MAX_AUTHOR_ELEMENTS: Final = 40
"""Elements that may name an author; containers come before what they hold."""

_AUTHOR_CUT_FACTOR: Final = 4


def _author_fields(body: LexborNode, metas: Iterable[MetaTag]) -> dict[str, Any]:
    """Read what is marked as an author; and what is only called so, where no meta element says who it was."""
    is_said = any(meta.content and meta.name == "author" for meta in metas)
    bylines = () if is_said else _author_texts(body, _BYLINE_SELECTOR, but="comment")
    return {"marked_authors": _author_texts(body, _AUTHOR_SELECTOR), "bylines": bylines}


_SIGNS: Final = (b"uthor", b"yline")
"""Without one of these, in either case, nothing is marked or called so."""


def _author_texts(body: LexborNode, selector: str, *, but: str = "") -> tuple[str, ...]:
    """Give what these elements say, without what is for no reader; none that is called so `but` something."""
    said = []
    for node in body.css(selector)[:MAX_AUTHOR_ELEMENTS]:
        if but and but in (node.attributes.get("class") or "").lower():
            continue
        text = node.attributes.get("content") or _shown(node)
        said.append(collapse_spaces(text[: _AUTHOR_CUT_FACTOR * MAX_AUTHOR_CHARS])[:MAX_AUTHOR_CHARS])
    return tuple(said)


def _shown(node: LexborNode) -> str:
    """Give what an element says to readers; the tree stays whole, for whoever comes behind."""
    pieces = []
    for within in islice(node.traverse(include_text=True), MAX_INLINE_NODES):
        above = within.parent if within.tag == "-text" else None
        if above is not None and above.tag not in _INVISIBLE_TAGS:
            pieces.append(within.text_content or "")
    return " ".join(pieces)


_INVISIBLE_TAGS: Final = frozenset({"style", "script", "svg", "title", "desc", "text", "tspan"})
"""The last ones stand in drawings."""


MAX_AUTHOR_CHARS: Final = 200
MAX_SCRIPTS: Final = 200
MAX_TIMES: Final = 20
MAX_DATA_CHARS: Final = 256 * 1024


def _links(walk: ElementIndex) -> list[LinkTag]:
    """Read the link elements that lead to pages and lists; most are about style, and nobody asks for them."""
    found = []
    for node in walk.elements("link")[:MAX_LINK_TAGS]:
        said = node.attributes
        rel = (said.get("rel") or "").lower()
        if not USED_RELS.isdisjoint(rel.split()):
            language, kind = said.get("hreflang") or "", said.get("type") or ""
            found.append(LinkTag(rel, said.get("href") or "", language.strip(), kind.strip().lower()))
    return found


def _frames(walk: ElementIndex) -> list[Anchor]:
    """Read the frames that somebody sees; those of counters are as large as a point, or not shown."""
    if not (walk.count("iframe") or walk.count("frame")):
        return []
    found = []
    for node in (*walk.elements("frame")[:MAX_FRAMES], *walk.elements("iframe")[:MAX_FRAMES]):
        said = node.attributes
        is_seen = "hidden" not in said and not _HIDDEN_STYLE.search(said.get("style") or "")
        sizes = {(said.get(name) or "").strip().removesuffix("px") for name in ("width", "height")}
        if is_seen and (src := said.get("src")) and sizes.isdisjoint({"0", "1"}):
            name = collapse_spaces(said.get("title") or said.get("name") or "")
            found.append(Anchor(src, name[:MAX_ANCHOR_CHARS], FRAME_REL, ELSEWHERE))
    return found


MAX_FRAMES: Final = 100
_HIDDEN_STYLE: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def _meta_tag(node: LexborNode) -> MetaTag:
    found = node.attributes
    name = (
        found.get("name") or found.get("property") or found.get("http-equiv") or found.get("itemprop") or ""
    )
    return MetaTag(name.strip().lower(), collapse_spaces(found.get("content") or ""))


def _title(walk: ElementIndex) -> str:
    for node in walk.elements("title"):
        parent = node.parent
        if parent is None or parent.tag != "svg":
            return collapse_spaces(node.text())
    return ""


def _heading(walk: ElementIndex) -> str:
    for at in walk.positions(tag_ids()["h1"], len(walk.nodes))[:MAX_HEADINGS]:
        node, follower = walk.nodes[at], walk.nodes[at + 1 : at + 2]
        within = follower[0].parent if follower else None
        is_plain = within is None or within.mem_id != node.mem_id
        if text := collapse_spaces(node.text()) if is_plain else inline_text(node):
            return text
    return ""


MAX_HEADINGS: Final = 20


def _noscript(walk: ElementIndex) -> str:
    if not (nodes := walk.elements("noscript")):
        return ""
    return collapse_spaces(" ".join(node.text(separator=" ") for node in nodes[:50]))[:MAX_NOSCRIPT_CHARS]


def _attribute(node: LexborNode, name: str) -> str:
    return (node.attributes.get(name) or "").strip()
