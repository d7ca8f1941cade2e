"""HTML through selectolax: one walk over Lexbor's tree, then the text of what is left visible.

Decides what of a tree is text and which elements are looked at. Knows nothing of URLs, limits of
events or outcomes. It trusts nothing: a tree may have a million nodes, and Lexbor's cost grows with the
square of the depth and of the attributes of an element, so what is beyond reason is cut before it is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import compress
from typing import Any, Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from strider.parser.core.readings import (
    ASIDE,
    BASIC_ONLY,
    ELSEWHERE,
    FOOTER,
    HEADER,
    MAIN,
    NAVIGATION,
    Anchors,
    Depth,
    HtmlReading,
    LinkTag,
    MetaTag,
)

from .lexbor_blocks import find_hidden, read_blocks
from .lexbor_embedded import read_embedded
from .lexbor_limits import find_limit
from .lexbor_records import read_records
from .lexbor_tags import tag_numbers
from .lexbor_times import read_times

MAX_ANCHOR_CHARS: Final = 200
"""Of an anchor's text; the rest says nothing about where it leads."""

MAX_ANCHORS: Final = 20_000
"""Anchors that are looked at, in the order of the page; a fraction of them will travel."""

MAX_NOSCRIPT_CHARS: Final = 500
MAX_METAS: Final = 500
MAX_LINK_TAGS: Final = 1_000

_INVISIBLE: Final = frozenset(
    [
        *("script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio"),
        *("video", "select", "datalist", "textarea", "head", "title", "noframes", "noembed", "frameset"),
        "dialog",
    ]
)
_WITHIN_WORDS: Final = frozenset({"img", "wbr", "picture", "map"})
"""Stand within a line and say nothing: without them its two halves become one text again."""

_INLINE: Final = frozenset(
    [
        *("abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font"),
        *("i", "ins", "kbd", "label", "mark", "nobr", "q", "ruby", "s", "samp", "small", "span", "strike"),
        *("strong", "sub", "sup", "time", "tt", "u", "var"),
    ]
)
_REGIONS: Final = {
    "main": MAIN,
    "article": MAIN,
    "nav": NAVIGATION,
    "header": HEADER,
    "footer": FOOTER,
    "aside": ASIDE,
}
_QUIET: Final = LexborDocumentOptions.WO_EVENTS
"""Without callbacks for changes of the tree, to which nobody here listens."""

_FRAGMENT_END: Final = "\0"
"""Stands in no text of a tree: the standard has it dropped or replaced."""


@dataclass(slots=True)
class _Walk:
    """What the walk gathers: each element in one list, the few that matter twice in two."""

    anchors: list[LexborNode] = field(default_factory=list)
    links: list[LexborNode] = field(default_factory=list)
    metas: list[LexborNode] = field(default_factory=list)
    titles: list[LexborNode] = field(default_factory=list)
    headings: list[LexborNode] = field(default_factory=list)
    paragraphs: list[LexborNode] = field(default_factory=list)
    scripts: list[LexborNode] = field(default_factory=list)
    forms: list[LexborNode] = field(default_factory=list)
    inputs: list[LexborNode] = field(default_factory=list)
    noscripts: list[LexborNode] = field(default_factory=list)
    bases: list[LexborNode] = field(default_factory=list)
    regions: list[tuple[int, LexborNode]] = field(default_factory=list)
    """Each with the number of anchors before it."""
    times: list[LexborNode] = field(default_factory=list)
    inline: list[LexborNode] = field(default_factory=list)
    removed: list[LexborNode] = field(default_factory=list)


def read_html(content: bytes, depth: Depth = BASIC_ONLY) -> HtmlReading:
    """Read a document in UTF-8, as deep as is asked for; bytes that are none become U+FFFD."""
    end = find_limit(content)
    tree = LexborHTMLParser(content if end is None else content[:end], options=_QUIET)
    root = tree.root
    if root is None:
        return HtmlReading(is_cut=end is not None)
    walk = _walk(root)
    body = tree.body
    hidden = [] if body is None else find_hidden(body)
    return HtmlReading(
        title=_title(walk),
        heading=_words(walk.headings[0].text()) if walk.headings else "",
        language=_attribute(root, "lang"),
        base=next((href for node in walk.bases if (href := _attribute(node, "href"))), ""),
        anchors=_anchors(walk),
        links=[_link(node) for node in walk.links[:MAX_LINK_TAGS]],
        metas=[_meta(node) for node in walk.metas[:MAX_METAS]],
        noscript=_noscript(walk),
        paragraphs=len(walk.paragraphs),
        scripts=len(walk.scripts),
        forms=len(walk.forms),
        password_fields=sum(_attribute(node, "type").lower() == "password" for node in walk.inputs),
        is_cut=end is not None or len(walk.anchors) > MAX_ANCHORS,
        **({} if body is None or not depth.has_blocks else _deeper(root, body, walk, hidden, depth)),
        text="" if body is None else _visible_text(body, walk, hidden),  # last: it takes the tree apart
    )


def _deeper(
    root: LexborNode, body: LexborNode, walk: _Walk, hidden: Sequence[LexborNode], depth: Depth
) -> dict[str, Any]:
    """Read what the main text and its like are decided by."""
    seen = read_blocks(body, hidden, with_markdown=depth.with_markdown)
    scripts = [
        node
        for node in walk.scripts[:MAX_SCRIPTS]
        if _attribute(node, "type").partition(";")[0].lower() in _DATA_TYPES
    ]
    data = [node.text()[:MAX_DATA_CHARS] for node in scripts]
    records = {"data_blocks": tuple(data), **read_records(root, body)} if depth.with_records else {}
    return {
        **records,
        "blocks": read_embedded(body, seen, hidden, with_markdown=depth.with_markdown),
        "data": "\n".join(data)[:MAX_DATA_CHARS],
        "times": read_times(walk.times[:MAX_TIMES]),
        "item_types": tuple(
            _attribute(node, "itemtype") for node in body.css("[itemscope][itemtype]")[:MAX_TIMES]
        ),
        "authors": tuple(_words(node.text())[:MAX_AUTHOR_CHARS] for node in body.css(_AUTHORS)[:MAX_TIMES]),
    }


_DATA_TYPES: Final = frozenset({"application/ld+json"})
_AUTHORS: Final = (
    '[rel="author"],[itemprop="author"] [itemprop="name"],[itemprop="author"],.byline .author,.author-name'
)
MAX_AUTHOR_CHARS: Final = 200
MAX_SCRIPTS: Final = 200
MAX_TIMES: Final = 20
MAX_DATA_CHARS: Final = 256 * 1024


def _walk(root: LexborNode) -> _Walk:
    walk = _Walk()
    keeper_of = _keepers(walk).get
    for node in root.traverse():
        keep = keeper_of(node.tag_id)
        if keep is not None:
            keep(node)
    return walk


def _keepers(walk: _Walk) -> dict[int, Callable[[LexborNode], None]]:
    """Say where each element goes. Lists take the nodes themselves: a call per node would cost more."""
    removed = walk.removed
    keep: dict[str, Callable[[LexborNode], None]] = {
        "inline": walk.inline.append,
        "removed": removed.append,
        "region": partial(_keep_region, walk),
        "time": partial(_keep_in_both, walk.inline, walk.times),
        "a": walk.anchors.append,
        "link": walk.links.append,
        "meta": walk.metas.append,
        "h1": walk.headings.append,
        "input": walk.inputs.append,
        "base": walk.bases.append,
        "p": walk.paragraphs.append,
        "form": walk.forms.append,
        "script": partial(_keep_in_both, removed, walk.scripts),
        "title": partial(_keep_in_both, removed, walk.titles),
        "noscript": partial(_keep_in_both, removed, walk.noscripts),
    }
    return {number: keep[place] for number, place in _places()}


@cache
def _places() -> tuple[tuple[int, str], ...]:
    """Say in which list each element belongs; those that are named there have one of their own."""
    number = tag_numbers()
    own = ("time", "a", "link", "meta", "h1", "input", "base", "p", "form", "script", "title", "noscript")
    places = {
        **dict.fromkeys(_INLINE, "inline"),
        **dict.fromkeys(_INVISIBLE | _WITHIN_WORDS, "removed"),
        **dict.fromkeys(_REGIONS, "region"),
        **{name: name for name in own},
        "area": "a",
    }
    return tuple((number[name], place) for name, place in places.items())


def _keep_in_both(one: list[LexborNode], other: list[LexborNode], node: LexborNode) -> None:
    one.append(node)
    other.append(node)


def _keep_region(walk: _Walk, node: LexborNode) -> None:
    walk.regions.append((len(walk.anchors), node))


def _regions(walk: _Walk) -> list[int]:
    """Say of each anchor in which region it stands; the innermost one counts, and comes last.

    The anchors within an element follow each other in the order of the page, so counting them is enough.
    """
    found = [ELSEWHERE] * len(walk.anchors)
    for start, node in walk.regions:
        count = len(node.css("a,area")) if start < len(found) else 0
        if count:
            found[start : start + count] = [_REGIONS[node.tag or ""]] * count
    return found


def _anchors(walk: _Walk) -> Anchors:
    """Read the anchors, column by column: a call or a tuple for each would cost more than what is read."""
    nodes = walk.anchors[:MAX_ANCHORS]
    attributes = [node.attributes for node in nodes]
    hrefs = [said.get("href") or "" for said in attributes]
    regions = _regions(walk)
    if not all(hrefs):
        leads = [bool(href) for href in hrefs]
        nodes, attributes = list(compress(nodes, leads)), list(compress(attributes, leads))
        hrefs, regions = list(compress(hrefs, leads)), list(compress(regions, leads))
    texts = _spaced([node.text_lexbor()[: 4 * MAX_ANCHOR_CHARS] for node in nodes])
    if not all(texts):
        texts = [
            text or _label(node, said) for text, node, said in zip(texts, nodes, attributes, strict=True)
        ]
    if max(map(len, texts), default=0) > MAX_ANCHOR_CHARS:
        texts = [text[:MAX_ANCHOR_CHARS] for text in texts]
    rels = [said.get("rel") or "" for said in attributes]
    return Anchors(hrefs, texts, [rel.lower() for rel in rels] if any(rels) else rels, regions[: len(hrefs)])


def _spaced(texts: list[str]) -> list[str]:
    """Make every run of white space one space; one look at all of them tells whether any needs it."""
    row = "|".join(["", *texts, ""])
    # Printable: no white space but spaces.
    if row.isprintable() and not any(spaces in row for spaces in ("  ", "| ", " |")):
        return texts
    return [" ".join(text.split()) for text in texts]


def _label(node: LexborNode, attributes: dict[str, str | None]) -> str:
    """Say what an anchor without text is called."""
    said = [attributes.get(name) for name in ("aria-label", "title", "alt")]
    if (picture := node.css_first("img[alt]")) is not None:
        said.append(picture.attributes.get("alt"))
    return next((words for text in said if text and (words := _words(text[: 4 * MAX_ANCHOR_CHARS]))), "")


def _link(node: LexborNode) -> LinkTag:
    found = node.attributes
    return LinkTag(
        (found.get("rel") or "").lower(),
        found.get("href") or "",
        (found.get("hreflang") or "").strip(),
        (found.get("type") or "").strip().lower(),
    )


def _meta(node: LexborNode) -> MetaTag:
    found = node.attributes
    name = (
        found.get("name") or found.get("property") or found.get("http-equiv") or found.get("itemprop") or ""
    )
    return MetaTag(name.strip().lower(), _words(found.get("content") or ""))


def _title(walk: _Walk) -> str:
    for node in walk.titles:
        parent = node.parent
        if parent is None or parent.tag != "svg":
            return _words(node.text())
    return ""


def _noscript(walk: _Walk) -> str:
    if not walk.noscripts:
        return ""
    return _words(" ".join(node.text(separator=" ") for node in walk.noscripts[:50]))[:MAX_NOSCRIPT_CHARS]


def _visible_text(body: LexborNode, walk: _Walk, hidden: Sequence[LexborNode]) -> str:
    for node in reversed(hidden):
        node.decompose()  # before anything is unwrapped: it may be a word within a line
    link = tag_numbers()["a"]
    for node in walk.anchors:
        follower = node.next
        if follower is None or follower.tag_id != link or node.tag_id != link:
            node.unwrap()  # links in a row stay apart, though nothing stands between them
    for node in walk.inline:
        node.unwrap()
    # Inner ones first: what stands within a removed node is gone with it.
    for node in reversed(walk.removed):
        node.decompose()
    body.merge_text_nodes()
    text = body.text(separator=_FRAGMENT_END, strip=True, skip_empty=True)
    return _lines(text)


def _lines(text: str) -> str:
    """Make every fragment a line, and every run of white space within one space.

    Nearly all fragments have none, so that looking is what has to be cheap; splitting all of a text into its
    words and joining them again would cost three times as much.
    """
    for character in "\n\t\r\f\xa0":
        if character in text:
            text = text.replace(character, " ")
    if text.rfind("  ") < 0:  # a third faster than looking from the front
        return text.replace(_FRAGMENT_END, "\n")
    return "\n".join(
        [_RUN.sub(" ", piece) if "  " in piece else piece for piece in text.split(_FRAGMENT_END)]
    )


_RUN: Final = re.compile("  +")


def _attribute(node: LexborNode, name: str) -> str:
    return (node.attributes.get(name) or "").strip()


def _words(text: str) -> str:
    return " ".join(text.split())
