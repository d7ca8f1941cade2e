"""Read an HTML document through selectolax: an index of Lexbor's tree, then its text.

Decides which elements are read. Knows nothing of URLs, limits of events or outcomes. Input is untrusted: a
tree may have a million nodes, and Lexbor's cost grows with the square of the depth and of the attributes of
an element, so a document that exceeds the limits is cut before it is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from strider.parser.core.document.markup_rewriting import inline_shadow_roots
from strider.parser.core.html.models import (
    BASIC_ONLY,
    ELSEWHERE,
    FRAME_REL,
    Anchor,
    ExtractionDepth,
    HtmlExtract,
    LinkTag,
    MetaTag,
)
from strider.parser.core.html.response_headers import USED_RELS

from .anchors import ANCHOR_TAGS, MAX_ANCHOR_CHARS, MAX_ANCHORS, read_anchors
from .blocks import find_excluded, find_hidden, read_blocks
from .limits import find_cut_offset
from .microdata import read_microdata
from .products.signals import read_product_signals
from .rdfa import read_rdfa
from .script_rendered_text import read_script_rendered_blocks
from .text import MAX_INLINE_NODES, collapse_spaces, inline_text, read_text
from .times import read_times
from .traversal import ElementIndex, tag_ids, tag_mask

MAX_NOSCRIPT_CHARS: Final = 500
MAX_METAS: Final = 500
MAX_LINK_TAGS: Final = 1_000

_PARSE_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS
"""Without callbacks for changes of the tree, which are not used."""


_JSON_LD_TYPES: Final = frozenset({"application/ld+json"})

_DATE_HINTS: Final = (b"datePublished", b"dateModified")

_AUTHOR_SELECTOR: Final = '[itemprop~="author"] [itemprop~="name"],[itemprop~="author"],[rel~="author"]'

_BYLINE_SELECTOR: Final = '[class*="author" i],[class*="byline" i]'

MAX_AUTHOR_ELEMENTS: Final = 40
"""Elements that may name an author; containers come before their content."""

_AUTHOR_CUT_FACTOR: Final = 4

_AUTHOR_HINTS: Final = (b"uthor", b"yline")
"""Without one of these, in either case, no element is marked as an author or byline."""

_INVISIBLE_TAGS: Final = frozenset({"style", "script", "svg", "title", "desc", "text", "tspan"})
"""The last ones belong to SVG drawings."""

MAX_AUTHOR_CHARS: Final = 200

MAX_SCRIPTS: Final = 200

MAX_TIMES: Final = 20

MAX_DATA_CHARS: Final = 256 * 1024

MAX_FRAMES: Final = 100

_HIDDEN_STYLE: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)

MAX_HEADINGS: Final = 20

MAX_PRODUCT_SCRIPTS: Final = 300
MAX_PRODUCT_SCRIPT_CHARS: Final = 1024 * 1024

_STATE_ATTRIBUTES: Final = (
    "data-product",
    "data-product_variations",
    "data-product-json",
    "data-item",
    "data-props",
    "data-page",
    "data-state",
)
_STATE_SELECTOR: Final = ",".join(f"[{name}]" for name in _STATE_ATTRIBUTES)
_SCRIPT_SELECTOR: Final = 'script:not([src]):not([type="application/ld+json"])'


def read_html(content: bytes, depth: ExtractionDepth = BASIC_ONLY) -> HtmlExtract:
    """Read a document in UTF-8 at this depth; invalid bytes become U+FFFD."""
    end = find_cut_offset(content)
    tree = LexborHTMLParser(content if end is None else content[:end], options=_PARSE_OPTIONS)
    root = tree.root
    if root is None:
        return HtmlExtract(is_truncated=end is not None)
    index = ElementIndex(root)
    if index.count("template") and (shown := inline_shadow_roots(content)) is not content:
        return read_html(shown, depth)
    anchors = index.select(tag_mask(ANCHOR_TAGS))
    body = tree.body
    hidden = [] if body is None else find_hidden(body)
    metas = [_meta_tag(node) for node in index.elements("meta")[:MAX_METAS]]
    return HtmlExtract(
        title=_title(index),
        heading=_heading(index),
        language=_attribute(root, "lang") or _attribute(root, "xml:lang"),
        base=next((href for node in index.elements("base") if (href := _attribute(node, "href"))), ""),
        anchors=read_anchors(index, anchors, with_blocks=depth.has_blocks),
        links=_links(index),
        frames=_frames(index),
        metas=metas,
        noscript=_noscript(index),
        paragraphs=index.count("p"),
        scripts=index.count("script"),
        forms=index.count("form"),
        password_fields=sum(
            _attribute(node, "type").lower() == "password" for node in index.elements("input")
        ),
        is_truncated=end is not None or len(anchors) > MAX_ANCHORS,
        **(
            {}
            if body is None or not depth.has_blocks
            else _main_level_fields(root, body, index, hidden, depth, content=content, metas=metas)
        ),
        # Last: it modifies the tree.
        text="" if body is None else read_text(body, index, anchors=anchors, hidden=hidden),
    )


def _main_level_fields(
    root: LexborNode,
    body: LexborNode,
    index: ElementIndex,
    hidden: Sequence[LexborNode],
    depth: ExtractionDepth,
    *,
    content: bytes,
    metas: Sequence[MetaTag],
) -> dict[str, Any]:
    """Return the fields that main text, dates and authors are extracted from."""
    hidden = find_excluded(body, hidden, has_code=bool(index.count("pre") or index.count("code")))
    seen = read_blocks(body, hidden, with_markdown=depth.with_markdown)
    scripts = [
        node
        for node in index.elements("script")[:MAX_SCRIPTS]
        if _attribute(node, "type").partition(";")[0].lower() in _JSON_LD_TYPES
    ]
    data = [node.text()[:MAX_DATA_CHARS] for node in scripts]
    times = read_times(
        body, index.elements("time")[:MAX_TIMES], has_properties=any(map(content.count, _DATE_HINTS))
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
        **(_author_fields(body, metas) if any(map(content.count, _AUTHOR_HINTS)) else {}),
    }


def _author_fields(body: LexborNode, metas: Iterable[MetaTag]) -> dict[str, Any]:
    """Return texts of elements marked as author; and of bylines, where no meta element names an author."""
    is_said = any(meta.content and meta.name == "author" for meta in metas)
    bylines = () if is_said else _author_texts(body, _BYLINE_SELECTOR, excluded_class="comment")
    return {"marked_authors": _author_texts(body, _AUTHOR_SELECTOR), "bylines": bylines}


def _author_texts(body: LexborNode, selector: str, *, excluded_class: str = "") -> tuple[str, ...]:
    """Return the visible texts of these elements, except those whose class contains `excluded_class`."""
    texts = []
    for node in body.css(selector)[:MAX_AUTHOR_ELEMENTS]:
        if excluded_class and excluded_class in (node.attributes.get("class") or "").lower():
            continue
        text = node.attributes.get("content") or _visible_text(node)
        texts.append(collapse_spaces(text[: _AUTHOR_CUT_FACTOR * MAX_AUTHOR_CHARS])[:MAX_AUTHOR_CHARS])
    return tuple(texts)


def _visible_text(node: LexborNode) -> str:
    """Return the visible text of an element without modifying the tree."""
    pieces = []
    for within in islice(node.traverse(include_text=True), MAX_INLINE_NODES):
        above = within.parent if within.tag == "-text" else None
        if above is not None and above.tag not in _INVISIBLE_TAGS:
            pieces.append(within.text_content or "")
    return " ".join(pieces)


def _links(index: ElementIndex) -> list[LinkTag]:
    """Read the link elements that lead to pages and feeds; most others are style sheets."""
    found = []
    for node in index.elements("link")[:MAX_LINK_TAGS]:
        attrs = node.attributes
        rel = (attrs.get("rel") or "").lower()
        if not USED_RELS.isdisjoint(rel.split()):
            language, kind = attrs.get("hreflang") or "", attrs.get("type") or ""
            found.append(LinkTag(rel, attrs.get("href") or "", language.strip(), kind.strip().lower()))
    return found


def _frames(index: ElementIndex) -> list[Anchor]:
    """Read the visible frames; those of counters are one pixel large, or hidden."""
    if not (index.count("iframe") or index.count("frame")):
        return []
    found = []
    for node in (*index.elements("frame")[:MAX_FRAMES], *index.elements("iframe")[:MAX_FRAMES]):
        attrs = node.attributes
        is_seen = "hidden" not in attrs and not _HIDDEN_STYLE.search(attrs.get("style") or "")
        sizes = {(attrs.get(name) or "").strip().removesuffix("px") for name in ("width", "height")}
        if is_seen and (src := attrs.get("src")) and sizes.isdisjoint({"0", "1"}):
            name = collapse_spaces(attrs.get("title") or attrs.get("name") or "")
            found.append(Anchor(src, name[:MAX_ANCHOR_CHARS], FRAME_REL, ELSEWHERE))
    return found


def _meta_tag(node: LexborNode) -> MetaTag:
    found = node.attributes
    name = (
        found.get("name") or found.get("property") or found.get("http-equiv") or found.get("itemprop") or ""
    )
    return MetaTag(name.strip().lower(), collapse_spaces(found.get("content") or ""))


def _title(index: ElementIndex) -> str:
    for node in index.elements("title"):
        parent = node.parent
        if parent is None or parent.tag != "svg":
            return collapse_spaces(node.text())
    return ""


def _heading(index: ElementIndex) -> str:
    for at in index.positions(tag_ids()["h1"], len(index.nodes))[:MAX_HEADINGS]:
        node, follower = index.nodes[at], index.nodes[at + 1 : at + 2]
        within = follower[0].parent if follower else None
        is_plain = within is None or within.mem_id != node.mem_id
        if text := collapse_spaces(node.text()) if is_plain else inline_text(node):
            return text
    return ""


def _noscript(index: ElementIndex) -> str:
    if not (nodes := index.elements("noscript")):
        return ""
    return collapse_spaces(" ".join(node.text(separator=" ") for node in nodes[:50]))[:MAX_NOSCRIPT_CHARS]


def _attribute(node: LexborNode, name: str) -> str:
    return (node.attributes.get(name) or "").strip()


def read_record_fields(root: LexborNode, body: LexborNode) -> dict[str, Any]:
    """Return the fields that only the level `records` needs."""
    return {
        "microdata": read_microdata(root),
        "rdfa": read_rdfa(root),
        "product_signals": read_product_signals(root, body),
        "price_scripts": tuple(_product_scripts(root)),
    }


def _product_scripts(root: LexborNode) -> Iterator[str]:
    for node in root.css(_SCRIPT_SELECTOR)[:MAX_PRODUCT_SCRIPTS]:
        text = node.text()
        if len(text) <= MAX_PRODUCT_SCRIPT_CHARS and ("price" in text or "Price" in text):
            yield text
    for node in root.css(_STATE_SELECTOR)[:MAX_PRODUCT_SCRIPTS]:
        for name, value in node.attributes.items():
            is_data = name in _STATE_ATTRIBUTES and value and value.lstrip()[:1] in {"{", "["}
            if value and is_data and len(value) <= MAX_PRODUCT_SCRIPT_CHARS and "rice" in value:
                yield value
