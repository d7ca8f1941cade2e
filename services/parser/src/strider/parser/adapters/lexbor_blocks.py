"""Lexbor's tree as blocks: one walk over what is visible, before anything takes the tree apart.

Decides what parts text and which elements say nothing. What is main text is the core's decision.
"""

from __future__ import annotations

from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.blocks import Block, Blocks, mark_of

TEXT: Final = "-text"
STREAMED: Final = "S:"

_SILENT: Final = frozenset(
    [
        *("script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio"),
        *("video", "select", "datalist", "textarea", "head", "title", "noframes", "noembed", "frameset"),
        *("dialog", "button", "input", "map", "-comment", "meter", "progress", "math", "optgroup", "-undef"),
        *("nav", "footer"),  # never the text, and much to walk over
        *("img", "source", "track", "param", "link", "meta", "col", "colgroup", "area"),
    ]
)
_WITHIN_LINE: Final = frozenset(
    [
        *(
            "a",
            "abbr",
            "acronym",
            "b",
            "bdi",
            "bdo",
            "big",
            "cite",
            "code",
            "data",
            "del",
            "dfn",
            "em",
            "font",
        ),
        *("i", "ins", "kbd", "label", "mark", "nobr", "q", "ruby", "s", "samp", "small", "span", "strike"),
        *("strong", "sub", "sup", "time", "tt", "u", "var", "picture", "wbr", "rb", "rt", "rp"),
    ]
)
_KINDS: Final = frozenset(
    [
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "li",
        "td",
        "th",
        "pre",
        "blockquote",
        "dt",
        "dd",
        "figcaption",
        "summary",
    ]
)
_PLACES: Final = frozenset(
    [
        *(
            "div",
            "section",
            "article",
            "main",
            "aside",
            "nav",
            "footer",
            "header",
            "ul",
            "ol",
            "table",
            "form",
        ),
        *("center", "fieldset", "dl", "details", "tbody", "figure", "hgroup", "menu", "address", "body"),
    ]
)
_MARKS: Final = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}


class _Walk:
    """Gathers text until a block ends."""

    __slots__ = (
        "kind",
        "link_chars",
        "links",
        "markdown",
        "out",
        "parts",
        "place",
        "pre",
        "row",
        "with_markdown",
    )

    def __init__(self, *, with_markdown: bool) -> None:
        self.out = Blocks([], [-1], [0], ["body"])
        self.parts: list[str] = []
        self.markdown: list[str] = []
        self.link_chars = self.links = self.place = self.row = self.pre = 0
        self.kind = "div"
        self.with_markdown = with_markdown

    def flush(self) -> None:
        raw = "".join(self.parts)
        text = raw.strip("\n") if self.pre else " ".join(raw.split())
        if text and not text.isspace():
            said = ""
            if self.with_markdown:
                said = raw.strip("\n") if self.pre else " ".join("".join(self.markdown).split())
            self.out.blocks.append(Block(text, self.kind, self.link_chars, self.place, self.row, said))
        self.parts.clear()
        self.markdown.clear()
        self.link_chars = 0


def read_blocks(body: LexborNode, *, with_markdown: bool = False, with_noscript: bool = False) -> Blocks:
    """Walk over the tree; not recursive, because pages nest as deep as they like."""
    walk = _Walk(with_markdown=with_markdown)
    silent = _SILENT - {"noscript"} if with_noscript else _SILENT
    open_elements: list[tuple[LexborNode, str, int, str]] = []
    node = body.first_child
    while True:
        if node is None:
            if not open_elements:
                break
            node, tag, walk_place, kind = open_elements.pop()
            _leave(walk, tag, walk_place, kind)
            node = node.next
            continue
        tag = node.tag or ""
        if tag == TEXT:
            _hear(walk, node.text_content or "")
            node = node.next
        elif tag in silent or (node.attributes and _is_hidden(node.attributes)):
            if tag not in _WITHIN_LINE and tag in _PLACES:
                walk.flush()
            node = node.next
        else:
            open_elements.append((node, tag, walk.place, walk.kind))
            _enter(walk, tag, node)
            node = node.first_child
    walk.flush()
    return walk.out


def _hear(walk: _Walk, text: str) -> None:
    walk.parts.append(text)
    if walk.with_markdown:
        walk.markdown.append(text)
    if walk.links:
        walk.link_chars += len(text.strip())


def _enter(walk: _Walk, tag: str, node: LexborNode) -> None:
    if tag == "a":
        walk.links += 1
    if tag in _WITHIN_LINE:
        if walk.with_markdown:
            _open_inline(walk, tag)
        return
    if tag == "br":
        walk.parts.append("\n")
        walk.markdown.append("\n")
        return
    walk.flush()
    if tag in _KINDS:
        walk.kind = tag
        if tag == "pre":
            walk.pre += 1
    elif tag == "tr":
        walk.row += 1
    if tag in _PLACES or tag in {"li", "p"}:
        attributes = node.attributes
        names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}" if attributes else ""
        out = walk.out
        out.parents.append(walk.place)
        out.marks.append(mark_of(tag, names, attributes.get("role") or "" if attributes else ""))
        out.tags.append(tag)
        walk.place = len(out.parents) - 1
        if tag in _PLACES:
            walk.kind = "div" if walk.kind not in {"li", "td", "th", "blockquote"} else walk.kind


def _open_inline(walk: _Walk, tag: str) -> None:
    if tag in _MARKS and not walk.pre:
        walk.markdown.append(
            f" {_MARKS[tag]}" if walk.markdown and not walk.markdown[-1][-1:].isalnum() else _MARKS[tag]
        )


def _leave(walk: _Walk, tag: str, place: int, kind: str) -> None:
    if tag == "a":
        walk.links -= 1
    if tag in _WITHIN_LINE:
        if walk.with_markdown and tag in _MARKS and not walk.pre:
            walk.markdown.append(_MARKS[tag])
        return
    if tag == "br":
        return
    walk.flush()
    walk.kind = kind
    walk.place = place
    if tag == "pre":
        walk.pre -= 1


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    if "hidden" in attributes:
        # Streamed pages are sent in such pieces, which a script shows in their place.
        return not (attributes.get("id") or "").startswith(STREAMED)
    style = attributes.get("style") or ""
    return "display" in style and "none" in style.replace(" ", "").partition("display:")[2][:5]
